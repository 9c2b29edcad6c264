import django.db.models.deletion
import django.db.models.expressions
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('annotation', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AnswerSides',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('salt', models.CharField(max_length=32)),
                ('medians', models.JSONField(default=dict, help_text='Of the first release, by question set.')),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='answer_sides', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='DataStatement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('creators', models.TextField(blank=True, help_text='One name per line.')),
                ('motivation', models.TextField(blank=True)),
                ('platform', models.TextField(blank=True)),
                ('demographics', models.TextField(blank=True)),
                ('ethics', models.TextField(blank=True)),
                ('sensitive_information', models.TextField(blank=True)),
                ('biases', models.TextField(blank=True)),
                ('limits', models.TextField(blank=True)),
                ('intended_use', models.TextField(blank=True)),
                ('social_impact', models.TextField(blank=True)),
                ('url', models.TextField(blank=True)),
                ('doi', models.TextField(blank=True)),
                ('written_at', models.DateTimeField()),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='data_statements', to='annotation.study')),
                ('written_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('study', '-version'),
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('requested', 'requested'), ('building', 'being built'), ('published', 'published'), ('failed', 'failed')], default='requested', max_length=10)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('study_state', models.CharField(choices=[('draft', 'draft'), ('open', 'open'), ('paused', 'paused'), ('closed', 'closed')], help_text="The study's state when the release was asked for.", max_length=10)),
                ('title', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('license', models.CharField(max_length=60)),
                ('story_language', models.CharField(max_length=35)),
                ('story_cap', models.PositiveIntegerField()),
                ('pay_rate', models.DecimalField(blank=True, decimal_places=2, max_digits=8, null=True)),
                ('currency', models.CharField(max_length=3)),
                ('filter_name', models.CharField(max_length=40)),
                ('votes_per_story', models.PositiveSmallIntegerField()),
                ('most_votes', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('salt', models.CharField(help_text='Decides on which side right answers stand; published.', max_length=32)),
                ('doi', models.CharField(blank=True, help_text='Its own; no other release has it.', max_length=300)),
                ('test', models.JSONField(blank=True, help_text='The qualification test and its key, if published.', null=True)),
                ('recruited', models.TextField(blank=True, help_text='Figures on recruitment, test and pay when it was requested, as JSON.')),
                ('code_version', models.CharField(max_length=100)),
                ('requested_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('answers_until', models.DateTimeField(blank=True, help_text='Answers saved until then are in it, and were fixed for it.', null=True)),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('failure', models.TextField(blank=True, help_text='Why it failed, and what to do about it.')),
                ('manifest_sha256', models.CharField(blank=True, max_length=64)),
                ('stories', models.PositiveIntegerField(default=0)),
                ('kept', models.PositiveIntegerField(default=0)),
                ('dropped', models.PositiveIntegerField(default=0)),
                ('incomplete', models.PositiveIntegerField(default=0)),
                ('votes', models.PositiveIntegerField(default=0)),
                ('annotators', models.PositiveIntegerField(default=0)),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='releases', to='annotation.study')),
            ],
            options={
                'ordering': ('study', '-number'),
            },
        ),
        migrations.CreateModel(
            name='Deposit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('s3', 'S3 bucket'), ('huggingface', 'Hugging Face dataset')], max_length=20)),
                ('place', models.CharField(help_text='Like s3://bucket/prefix, or owner/name.', max_length=400)),
                ('public', models.BooleanField(default=False, help_text='Whether everybody can read there.')),
                ('state', models.CharField(choices=[('uploading', 'being uploaded'), ('done', 'done'), ('failed', 'failed')], default='uploading', max_length=10)),
                ('requested_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('url', models.TextField(blank=True)),
                ('failure', models.TextField(blank=True, help_text='Why it failed, and what to do about it.')),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deposits', to='publishing.release')),
            ],
            options={
                'ordering': ('release', 'kind', 'place'),
            },
        ),
        migrations.CreateModel(
            name='BaselineSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('per_scenario', models.PositiveIntegerField()),
                ('seed', models.BigIntegerField()),
                ('stories', models.PositiveIntegerField()),
                ('questions', models.PositiveIntegerField()),
                ('short', models.JSONField(blank=True, default=dict, help_text='Scenarios with fewer stories than wanted, and how many.')),
                ('repeated_cores', models.PositiveIntegerField(default=0, help_text='Stories beside another severity of the same core.')),
                ('drawn_at', models.DateTimeField()),
                ('drawn_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='baseline_sample', to='annotation.study')),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='baseline_samples', to='publishing.release')),
            ],
        ),
        migrations.CreateModel(
            name='ReleaseFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=200)),
                ('size', models.PositiveBigIntegerField(help_text='Bytes.')),
                ('sha256', models.CharField(max_length=64)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='publishing.release')),
            ],
            options={
                'ordering': ('release', 'path'),
            },
        ),
        migrations.CreateModel(
            name='StudyPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.TextField(help_text='The plan as JSON, in the bytes that were hashed.')),
                ('sha256', models.CharField(max_length=64)),
                ('fixed_at', models.DateTimeField()),
                ('fixed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='plan', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='Withdrawal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField(help_text='Everybody reads it.')),
                ('withdrawn_at', models.DateTimeField()),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='withdrawal', to='publishing.release')),
                ('withdrawn_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-withdrawn_at',),
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='answersides',
            trigger=pgtrigger.compiler.Trigger(name='answer_sides_stay', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='678f9b1ee51dda6e7afe6c7c8756de1e01160921', operation='DELETE', pgid='pgtrigger_answer_sides_stay_3ba3d', table='publishing_answersides', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='answersides',
            trigger=pgtrigger.compiler.Trigger(name='answer_sides_have_one_salt', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."study_id" IS DISTINCT FROM (NEW."study_id") OR OLD."salt" IS DISTINCT FROM (NEW."salt"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='3ed6256d92849e98516034538c7d74283630df8c', operation='UPDATE', pgid='pgtrigger_answer_sides_have_one_salt_ce624', table='publishing_answersides', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='answersides',
            trigger=pgtrigger.compiler.Trigger(name='answer_sides_are_decided_once', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.medians <> '{}'::jsonb)", func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='cf795c3886012d141bba1131ec85d1030996e99e', operation='UPDATE', pgid='pgtrigger_answer_sides_are_decided_once_4e5a0', table='publishing_answersides', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='datastatement',
            constraint=models.UniqueConstraint(fields=('study', 'version'), name='one_data_statement_per_version'),
        ),
        migrations.AddConstraint(
            model_name='datastatement',
            constraint=models.CheckConstraint(condition=models.Q(('version__gte', 1)), name='data_statements_count_from_one'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='datastatement',
            trigger=pgtrigger.compiler.Trigger(name='data_statement_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='094e0bc329d228ff8499ff166b71f7fa46b6ce2f', operation='UPDATE OR DELETE', pgid='pgtrigger_data_statement_is_final_9e91d', table='publishing_datastatement', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='one_release_per_study_and_number'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['requested', 'building'])), fields=('study',), name='one_unfinished_release_per_study'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.UniqueConstraint(condition=models.Q(('doi', ''), _negated=True), fields=('doi',), name='one_release_per_doi'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='releases_count_from_one'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('published_at__isnull', False), ('state', 'published'), models.Q(('manifest_sha256', ''), _negated=True)), models.Q(models.Q(('state', 'published'), _negated=True), ('manifest_sha256', ''), ('published_at', None)), _connector='OR'), name='published_release_has_date_and_manifest'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), models.Q(('failure', ''), _negated=True)), models.Q(models.Q(('state', 'failed'), _negated=True), ('failure', '')), _connector='OR'), name='failed_release_says_why'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(('stories', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('kept'), '+', models.F('dropped')), '+', models.F('incomplete')))), name='every_story_of_a_release_has_one_outcome'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='release',
            trigger=pgtrigger.compiler.Trigger(name='published_release_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."state" = \'published\')', func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7d5b126830823381bb557464a9e07e1b378e6c1a', operation='UPDATE OR DELETE', pgid='pgtrigger_published_release_is_final_b636a', table='publishing_release', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='deposit',
            constraint=models.UniqueConstraint(fields=('release', 'kind', 'place'), name='one_deposit_per_release_and_place'),
        ),
        migrations.AddConstraint(
            model_name='deposit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 's3'), ('place__regex', '^s3://[a-z0-9.-]+/[A-Za-z0-9_./-]+$')), models.Q(('kind', 'huggingface'), ('place__regex', '^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$')), _connector='OR'), name='place_of_a_deposit_names_nothing_else'),
        ),
        migrations.AddConstraint(
            model_name='deposit',
            constraint=models.CheckConstraint(condition=models.Q(('url', ''), ('url__regex', '^https?://[^@?\\s]+$'), _connector='OR'), name='deposit_url_has_no_secret'),
        ),
        migrations.AddConstraint(
            model_name='deposit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('done_at__isnull', False), ('state', 'done'), models.Q(('url', ''), _negated=True)), models.Q(models.Q(('state', 'done'), _negated=True), ('done_at', None), ('url', '')), _connector='OR'), name='deposit_that_is_done_says_where'),
        ),
        migrations.AddConstraint(
            model_name='deposit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), models.Q(('failure', ''), _negated=True)), models.Q(models.Q(('state', 'failed'), _negated=True), ('failure', '')), _connector='OR'), name='deposit_that_failed_says_why'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='deposit',
            trigger=pgtrigger.compiler.Trigger(name='deposit_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='714dada4c189980c2b26fcc6e7f118b7ea6d8be7', operation='DELETE', pgid='pgtrigger_deposit_stays_7e673', table='publishing_deposit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='deposit',
            trigger=pgtrigger.compiler.Trigger(name='only_published_releases_are_deposited', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN\n        RAISE EXCEPTION 'only a published release is deposited';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='80da026a4793d57002e1079cc1721c9270c3493f', operation='INSERT', pgid='pgtrigger_only_published_releases_are_deposited_2e107', table='publishing_deposit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='baselinesample',
            trigger=pgtrigger.compiler.Trigger(name='baseline_sample_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='155747d06b09d87145c7c5a4e3a6bd6b260b5e0b', operation='UPDATE OR DELETE', pgid='pgtrigger_baseline_sample_is_final_49d4c', table='publishing_baselinesample', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='releasefile',
            constraint=models.UniqueConstraint(fields=('release', 'path'), name='one_file_per_path_in_a_release'),
        ),
        migrations.AddConstraint(
            model_name='releasefile',
            constraint=models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='release_file_is_hashed'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='releasefile',
            trigger=pgtrigger.compiler.Trigger(name='release_file_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='1b12b1eb25552cc1c2a17c035be4243ed665e2a4', operation='UPDATE OR DELETE', pgid='pgtrigger_release_file_is_final_0b804', table='publishing_releasefile', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='releasefile',
            trigger=pgtrigger.compiler.Trigger(name='published_release_takes_no_files', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN\n        RAISE EXCEPTION 'a published release takes no more rows';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='be25125c96b28473bb199f95716a750c91e00252', operation='INSERT', pgid='pgtrigger_published_release_takes_no_files_ef2cf', table='publishing_releasefile', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='studyplan',
            trigger=pgtrigger.compiler.Trigger(name='plan_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='51cdeff4525891d7dfb4e0eccfb308f0c135de5a', operation='UPDATE OR DELETE', pgid='pgtrigger_plan_is_final_3d024', table='publishing_studyplan', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='withdrawal',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='withdrawal_says_why'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='withdrawal',
            trigger=pgtrigger.compiler.Trigger(name='withdrawal_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='1f63f9dc0f5db3e49b7f48f1f8d7be43b7a0e53d', operation='UPDATE OR DELETE', pgid='pgtrigger_withdrawal_is_final_d6b0a', table='publishing_withdrawal', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='withdrawal',
            trigger=pgtrigger.compiler.Trigger(name='only_published_releases_are_withdrawn', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN\n        RAISE EXCEPTION 'only a published release is withdrawn';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='c25869a4fe9c0bc275d5ca07d5929afe1017611e', operation='INSERT', pgid='pgtrigger_only_published_releases_are_withdrawn_ac55f', table='publishing_withdrawal', when='BEFORE')),
        ),
    ]
