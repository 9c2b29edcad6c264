import django.contrib.postgres.fields
import django.db.models.deletion
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
            name='AnswerKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('enough', models.PositiveSmallIntegerField(blank=True, help_text='Acceptable answers that pass; empty: all of them.', null=True)),
                ('must_pass', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), blank=True, default=list, help_text='Positions of the stories about which no answer may be wrong.', size=None)),
                ('note', models.TextField(blank=True)),
                ('created_at', models.DateTimeField()),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('round', 'version'),
            },
        ),
        migrations.CreateModel(
            name='Round',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('test', 'test'), ('practice', 'optional practice'), ('required_practice', 'required practice'), ('quiz', 'quiz')], default='test', max_length=20)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('attempts_allowed', models.PositiveSmallIntegerField(default=1)),
                ('pays_on_fail', models.BooleanField(default=True)),
                ('state', models.CharField(choices=[('preparing', 'without a key'), ('active', 'active'), ('retired', 'retired')], default='preparing', max_length=10)),
                ('revealed_at', models.DateTimeField(blank=True, help_text='When the experts’ answers were revealed.', null=True)),
                ('created_at', models.DateTimeField()),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rounds', to='annotation.study')),
            ],
            options={
                'ordering': ('study', 'number'),
            },
        ),
        migrations.CreateModel(
            name='KeyReader',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='readers', to='qualification.round')),
            ],
            options={
                'ordering': ('round', 'reader'),
            },
        ),
        migrations.CreateModel(
            name='ExpertReview',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked_at', models.DateTimeField()),
                ('handed_in_at', models.DateTimeField(blank=True, null=True)),
                ('dismissed_at', models.DateTimeField(blank=True, help_text='When the request was withdrawn.', null=True)),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('expert', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='qualification.round')),
            ],
            options={
                'ordering': ('round', 'asked_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('attempts_allowed', models.PositiveSmallIntegerField(help_text='Over all rounds of the study, as their first round allows.')),
                ('state', models.CharField(choices=[('started', 'started'), ('submitted', 'handed in'), ('void', 'void')], default='started', max_length=10)),
                ('started_at', models.DateTimeField()),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('passed', models.BooleanField(blank=True, null=True)),
                ('voided_at', models.DateTimeField(blank=True, null=True)),
                ('was_theirs', models.BooleanField(db_default=True, default=True, help_text='No: void because somebody else took the test in their name.')),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='annotation.enrollment')),
                ('instructions', models.ForeignKey(blank=True, help_text='The study’s own instructions that are shown in it; empty: the protocol’s.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.instructiontext')),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='qualification.answerkey')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='qualification.round')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.AddField(
            model_name='answerkey',
            name='round',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='qualification.round'),
        ),
        migrations.CreateModel(
            name='RoundStory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='round_stories', to='qualification.round')),
                ('story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.story')),
            ],
            options={
                'verbose_name_plural': 'round stories',
                'ordering': ('round', 'position'),
            },
        ),
        migrations.CreateModel(
            name='PracticeAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(max_length=40)),
                ('turn', models.PositiveSmallIntegerField()),
                ('accepted', models.BooleanField()),
                ('answered_at', models.DateTimeField()),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='practice_answers', to='annotation.enrollment')),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='practice_answers', to='qualification.answerkey')),
                ('round_story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='qualification.roundstory')),
            ],
            options={
                'ordering': ('enrollment', 'round_story', 'turn', 'question', 'row'),
            },
        ),
        migrations.CreateModel(
            name='KeyReason',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('reason', models.CharField(max_length=500)),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reasons', to='qualification.answerkey')),
                ('round_story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='qualification.roundstory')),
            ],
            options={
                'ordering': ('key', 'round_story', 'question', 'row'),
            },
        ),
        migrations.CreateModel(
            name='ExpertAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(max_length=40)),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='qualification.expertreview')),
                ('round_story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='qualification.roundstory')),
            ],
            options={
                'ordering': ('review', 'round_story', 'question', 'row'),
            },
        ),
        migrations.CreateModel(
            name='AttemptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(max_length=40)),
                ('accepted', models.BooleanField(blank=True, help_text='Set when the attempt is graded.', null=True)),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='qualification.attempt')),
                ('round_story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='qualification.roundstory')),
            ],
            options={
                'ordering': ('attempt', 'round_story', 'question', 'row'),
            },
        ),
        migrations.CreateModel(
            name='AcceptableOption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(max_length=40)),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='options', to='qualification.answerkey')),
                ('round_story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='qualification.roundstory')),
            ],
            options={
                'ordering': ('key', 'round_story', 'question', 'row', 'option'),
            },
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='one_round_per_number_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.CheckConstraint(condition=models.Q(('attempts_allowed__gte', 1)), name='round_allows_an_attempt'),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['preparing', 'active', 'retired'])), name='round_has_a_known_state'),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'active'), models.Q(('kind__in', ['test', 'quiz']), _negated=True)), fields=('study',), name='one_open_practice_in_a_study'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='round',
            trigger=pgtrigger.compiler.Trigger(name='round_keeps_its_kind', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."kind" IS DISTINCT FROM (NEW."kind"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='5b0e7c9f97b818a68078185ba2afa07443fe206a', operation='UPDATE', pgid='pgtrigger_round_keeps_its_kind_a2a7b', table='qualification_round', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='round',
            trigger=pgtrigger.compiler.Trigger(name='round_is_revealed_for_good', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."revealed_at" IS NOT NULL AND OLD."revealed_at" IS DISTINCT FROM (NEW."revealed_at"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='66dbc716e5141b588367807c459e92d47cded600', operation='UPDATE', pgid='pgtrigger_round_is_revealed_for_good_27ab2', table='qualification_round', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='round',
            trigger=pgtrigger.compiler.Trigger(name='nobody_is_blind_when_revealed', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."revealed_at" IS NULL AND NEW."revealed_at" IS NOT NULL)', func="\n    IF EXISTS (SELECT FROM qualification_expertreview r WHERE r.round_id = NEW.id\n               AND r.handed_in_at IS NULL AND r.dismissed_at IS NULL) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot reveal what somebody has still to answer blind';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='cb4181829de0b9872a68aa7a785fcb64698937fd', operation='UPDATE', pgid='pgtrigger_nobody_is_blind_when_revealed_57acc', table='qualification_round', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='keyreader',
            constraint=models.UniqueConstraint(fields=('round', 'reader'), name='a_reader_is_remembered_once'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='keyreader',
            trigger=pgtrigger.compiler.Trigger(name='reader_is_not_forgotten', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='ccf32080626f72743b2846da2f482da660d56da8', operation='UPDATE OR DELETE', pgid='pgtrigger_reader_is_not_forgotten_3a0c7', table='qualification_keyreader', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='expertreview',
            constraint=models.UniqueConstraint(fields=('round', 'expert'), name='one_review_per_expert_and_round'),
        ),
        migrations.AddConstraint(
            model_name='expertreview',
            constraint=models.CheckConstraint(condition=models.Q(('handed_in_at', None), ('dismissed_at', None), _connector='OR'), name='who_handed_in_is_not_dismissed'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertreview',
            trigger=pgtrigger.compiler.Trigger(name='expert_review_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='f0992b211422e65db7001e9f3e2120ee46552041', operation='DELETE', pgid='pgtrigger_expert_review_stays_24059', table='qualification_expertreview', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertreview',
            trigger=pgtrigger.compiler.Trigger(name='handed_in_review_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."handed_in_at" IS NOT NULL)', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='a602305ff0adaa53371b108d40f7f2d839f63e96', operation='UPDATE', pgid='pgtrigger_handed_in_review_is_final_9bb43', table='qualification_expertreview', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertreview',
            trigger=pgtrigger.compiler.Trigger(name='expert_review_is_theirs', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."round_id" IS DISTINCT FROM (NEW."round_id") OR OLD."expert_id" IS DISTINCT FROM (NEW."expert_id"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='25ebfec485eb6140f6baf887c741dfae55975a1e', operation='UPDATE', pgid='pgtrigger_expert_review_is_theirs_28521', table='qualification_expertreview', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertreview',
            trigger=pgtrigger.compiler.Trigger(name='nobody_is_asked_once_open', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NEW.dismissed_at IS NULL AND EXISTS (\n               SELECT FROM qualification_round r WHERE r.id = NEW.round_id AND r.revealed_at IS NOT NULL) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot answer blind what has been revealed';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='5fe94fd0bf1de0c79e9c43d3b3033f2b2d6c4fdd', operation='INSERT OR UPDATE', pgid='pgtrigger_nobody_is_asked_once_open_9f641', table='qualification_expertreview', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'void'), _negated=True), fields=('enrollment', 'number'), name='one_attempt_per_number_and_person'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'started')), fields=('enrollment',), name='one_attempt_at_a_time_per_person'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1), ('number__lte', models.F('attempts_allowed'))), name='attempt_is_one_of_those_allowed'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('passed', None), ('state', 'started'), ('submitted_at', None)), models.Q(('passed__isnull', False), ('state', 'submitted'), ('submitted_at__isnull', False)), models.Q(('passed', None), ('state', 'void'), ('submitted_at', None)), models.Q(('passed__isnull', False), ('state', 'void'), ('submitted_at__isnull', False)), _connector='OR'), name='attempt_is_graded_when_handed_in'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'void'), ('voided_at__isnull', False)), models.Q(models.Q(('state', 'void'), _negated=True), ('voided_at', None), ('was_theirs', True)), _connector='OR'), name='attempt_is_void_since_a_time'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attempt',
            trigger=pgtrigger.compiler.Trigger(name='void_attempt_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."state" = \'void\')', func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='63509cbfa9f3be6fbf2aee7cd1df5da48ad57d93', operation='UPDATE OR DELETE', pgid='pgtrigger_void_attempt_is_final_cb366', table='qualification_attempt', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attempt',
            trigger=pgtrigger.compiler.Trigger(name='submitted_attempt_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."state" = \'submitted\')', func="\n    IF TG_OP = 'DELETE' OR NEW.state <> 'void' OR to_jsonb(NEW) - 'state' - 'voided_at' - 'was_theirs'\n                <> to_jsonb(OLD) - 'state' - 'voided_at' - 'was_theirs' THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot change an attempt that has been handed in, but to make it void';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='679f477ef0eb9d4a3d6ecb969b4f7cf3bf70eacc', operation='UPDATE OR DELETE', pgid='pgtrigger_submitted_attempt_is_final_76b4d', table='qualification_attempt', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attempt',
            trigger=pgtrigger.compiler.Trigger(name='attempt_is_under_a_key_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_answerkey k\n                   JOIN qualification_round r ON r.id = k.round_id\n                   WHERE k.id = NEW.key_id AND r.id = NEW.round_id AND r.kind IN ('test', 'quiz')) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot take a test in a practice round, or be graded by the key of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='1c70975d4df5c04340fd165ae9e601bebd0bb0a3', operation='INSERT OR UPDATE', pgid='pgtrigger_attempt_is_under_a_key_of_its_round_2cbd7', table='qualification_attempt', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='answerkey',
            constraint=models.UniqueConstraint(fields=('round', 'version'), name='one_answer_key_per_version'),
        ),
        migrations.AddConstraint(
            model_name='answerkey',
            constraint=models.CheckConstraint(condition=models.Q(('enough', None), ('enough__gte', 1), _connector='OR'), name='a_key_asks_for_an_acceptable_answer'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='answerkey',
            trigger=pgtrigger.compiler.Trigger(name='key_version_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='898f11f181367f52e04a62eaa0291e4d28b6b0d8', operation='UPDATE OR DELETE', pgid='pgtrigger_key_version_is_final_4f9fa', table='qualification_answerkey', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='roundstory',
            constraint=models.UniqueConstraint(fields=('round', 'story'), name='a_story_is_once_in_a_round'),
        ),
        migrations.AddConstraint(
            model_name='roundstory',
            constraint=models.UniqueConstraint(fields=('round', 'position'), name='one_story_per_position_in_a_round'),
        ),
        migrations.AddConstraint(
            model_name='roundstory',
            constraint=models.CheckConstraint(condition=models.Q(('position__gte', 1)), name='round_positions_count_from_one'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='roundstory',
            trigger=pgtrigger.compiler.Trigger(name='stories_stay_under_a_key', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_answerkey k WHERE k.round_id IN (NEW.round_id, OLD.round_id)) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot change the stories of a round that has a key';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='415288e26b055da730b77ed2e0f90801b4a396fc', operation='INSERT OR UPDATE OR DELETE', pgid='pgtrigger_stories_stay_under_a_key_38572', table='qualification_roundstory', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='roundstory',
            trigger=pgtrigger.compiler.Trigger(name='practised_story_is_not_tested', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_round mine\n               JOIN annotation_story s ON s.id = NEW.story_id\n               JOIN qualification_round other ON other.study_id = mine.study_id\n               JOIN qualification_roundstory rs ON rs.round_id = other.id\n               JOIN annotation_story o ON o.id = rs.story_id AND o.text_hash = s.text_hash\n               WHERE mine.id = NEW.round_id\n                 AND (mine.kind IN ('test', 'quiz')) <> (other.kind IN ('test', 'quiz'))) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot test a text that is practised';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='14ce2ec8eef39f1860cf5ea8c731b7027f5b1124', operation='INSERT OR UPDATE', pgid='pgtrigger_practised_story_is_not_tested_a295c', table='qualification_roundstory', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='practiceanswer',
            constraint=models.UniqueConstraint(fields=('enrollment', 'round_story', 'turn', 'question', 'row'), name='one_practice_answer_per_question_and_turn'),
        ),
        migrations.AddConstraint(
            model_name='practiceanswer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('question', ''), _negated=True), models.Q(('option', ''), _negated=True), ('turn__gte', 1)), name='practice_answer_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='practiceanswer',
            trigger=pgtrigger.compiler.Trigger(name='practice_answer_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='c9ec2f241710dadf848b22bfa88dfb43cba3d0e5', operation='UPDATE OR DELETE', pgid='pgtrigger_practice_answer_is_final_640e2', table='qualification_practiceanswer', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='practiceanswer',
            trigger=pgtrigger.compiler.Trigger(name='story_is_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_answerkey p JOIN qualification_roundstory s ON s.round_id = p.round_id\n                   WHERE p.id = NEW.key_id AND s.id = NEW.round_story_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='1ad41664f97e095c5d810d36620b173fc781e19a', operation='INSERT OR UPDATE', pgid='pgtrigger_story_is_of_its_round_dbe0d', table='qualification_practiceanswer', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='practiceanswer',
            trigger=pgtrigger.compiler.Trigger(name='practice_is_no_test', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_answerkey k\n                   JOIN qualification_round r ON r.id = k.round_id\n                   JOIN annotation_enrollment e ON e.study_id = r.study_id\n                   WHERE k.id = NEW.key_id AND e.id = NEW.enrollment_id\n                     AND r.kind NOT IN ('test', 'quiz')) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot practise what is a test, or of another study';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='fc31bd2ad4bcb877db045891a461473c77cccb2a', operation='INSERT', pgid='pgtrigger_practice_is_no_test_de4a7', table='qualification_practiceanswer', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='keyreason',
            constraint=models.UniqueConstraint(fields=('key', 'round_story', 'question', 'row'), name='one_reason_per_question_of_a_key'),
        ),
        migrations.AddConstraint(
            model_name='keyreason',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='reason_of_a_key_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='keyreason',
            trigger=pgtrigger.compiler.Trigger(name='key_reason_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='c13b0455d358cde82f54b792767cad4f5bf8597f', operation='UPDATE OR DELETE', pgid='pgtrigger_key_reason_is_final_9623a', table='qualification_keyreason', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='keyreason',
            trigger=pgtrigger.compiler.Trigger(name='frozen_key_does_not_grow', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_attempt a WHERE a.key_id = NEW.key_id)\n       OR EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.key_id = NEW.key_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot add to a key that somebody began under';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='9ab66183633fa09190aea753014a02f2dd7c0ab5', operation='INSERT', pgid='pgtrigger_frozen_key_does_not_grow_12a67', table='qualification_keyreason', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='keyreason',
            trigger=pgtrigger.compiler.Trigger(name='story_is_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_answerkey p JOIN qualification_roundstory s ON s.round_id = p.round_id\n                   WHERE p.id = NEW.key_id AND s.id = NEW.round_story_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='6d028dca3ede905072cb2cb8e187a5751d962674', operation='INSERT OR UPDATE', pgid='pgtrigger_story_is_of_its_round_a052d', table='qualification_keyreason', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='expertanswer',
            constraint=models.UniqueConstraint(fields=('review', 'round_story', 'question', 'row'), name='one_expert_answer_per_question'),
        ),
        migrations.AddConstraint(
            model_name='expertanswer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('question', ''), _negated=True), models.Q(('option', ''), _negated=True)), name='expert_answer_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertanswer',
            trigger=pgtrigger.compiler.Trigger(name='handed_in_answer_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_expertreview r WHERE r.id IN (NEW.review_id, OLD.review_id)\n               AND (r.handed_in_at IS NOT NULL OR r.dismissed_at IS NOT NULL)) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot change what an expert handed in';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='7472cc04a93ff0f10e2d8743f8064073f38cd2f5', operation='INSERT OR UPDATE OR DELETE', pgid='pgtrigger_handed_in_answer_is_final_cfde8', table='qualification_expertanswer', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='expertanswer',
            trigger=pgtrigger.compiler.Trigger(name='story_is_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_expertreview p JOIN qualification_roundstory s ON s.round_id = p.round_id\n                   WHERE p.id = NEW.review_id AND s.id = NEW.round_story_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='1753a3e802436e6d85aa02875073143aaea1ebdd', operation='INSERT OR UPDATE', pgid='pgtrigger_story_is_of_its_round_f612a', table='qualification_expertanswer', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='attemptanswer',
            constraint=models.UniqueConstraint(fields=('attempt', 'round_story', 'question', 'row'), name='one_attempt_answer_per_question'),
        ),
        migrations.AddConstraint(
            model_name='attemptanswer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('question', ''), _negated=True), models.Q(('option', ''), _negated=True)), name='attempt_answer_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attemptanswer',
            trigger=pgtrigger.compiler.Trigger(name='graded_answer_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted" IS NOT NULL)', func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='a83d6db34a7846cb1af4621de929f7e52bcbac98', operation='UPDATE OR DELETE', pgid='pgtrigger_graded_answer_is_final_7ff3b', table='qualification_attemptanswer', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attemptanswer',
            trigger=pgtrigger.compiler.Trigger(name='submitted_attempt_does_not_grow', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_attempt a WHERE a.id IN (NEW.attempt_id, OLD.attempt_id)\n               AND a.state <> 'started') THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot change an attempt that has been handed in or is void';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='d185b9f4df0dfe508f50ac7ccb3809ddd663a056', operation='INSERT OR UPDATE OR DELETE', pgid='pgtrigger_submitted_attempt_does_not_grow_ccc14', table='qualification_attemptanswer', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='attemptanswer',
            trigger=pgtrigger.compiler.Trigger(name='story_is_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_attempt p JOIN qualification_roundstory s ON s.round_id = p.round_id\n                   WHERE p.id = NEW.attempt_id AND s.id = NEW.round_story_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='c5f6e039cf877fc50214802d0ae0e753bb623f00', operation='INSERT OR UPDATE', pgid='pgtrigger_story_is_of_its_round_422d6', table='qualification_attemptanswer', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='acceptableoption',
            constraint=models.UniqueConstraint(fields=('key', 'round_story', 'question', 'row', 'option'), name='an_option_is_accepted_once'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='acceptableoption',
            trigger=pgtrigger.compiler.Trigger(name='answer_key_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7c7e43f25ab7676b295071e4849dc94c65773a8d', operation='UPDATE OR DELETE', pgid='pgtrigger_answer_key_is_final_ee791', table='qualification_acceptableoption', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='acceptableoption',
            trigger=pgtrigger.compiler.Trigger(name='frozen_key_does_not_grow', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM qualification_attempt a WHERE a.key_id = NEW.key_id)\n       OR EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.key_id = NEW.key_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot add to a key that somebody began under';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='86f544fa7258a2eaa2865c3e45c4f31bf78ff9c4', operation='INSERT', pgid='pgtrigger_frozen_key_does_not_grow_2067b', table='qualification_acceptableoption', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='acceptableoption',
            trigger=pgtrigger.compiler.Trigger(name='story_is_of_its_round', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM qualification_answerkey p JOIN qualification_roundstory s ON s.round_id = p.round_id\n                   WHERE p.id = NEW.key_id AND s.id = NEW.round_story_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='262cde6d66ff4beae88459b2ac65690d1a6ba2f0', operation='INSERT OR UPDATE', pgid='pgtrigger_story_is_of_its_round_9d61c', table='qualification_acceptableoption', when='AFTER')),
        ),
    ]
