import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
import recruitment.models.visits
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('annotation', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('platform', models.CharField(choices=[('link', 'personal link'), ('email', 'e-mail'), ('prolific', 'Prolific'), ('mturk', 'Mechanical Turk')], max_length=20)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('purpose', models.CharField(choices=[('test', 'qualification test'), ('stories', 'stories')], max_length=10)),
                ('state', models.CharField(choices=[('draft', 'draft: nothing is on the platform'), ('creating', 'being put on the platform'), ('live', 'people can come'), ('pausing', 'is being paused'), ('paused', 'paused'), ('ending', 'is being ended'), ('ended', 'ended')], default='draft', max_length=10)),
                ('title', models.CharField(help_text='Participants read it in the platform’s list.', max_length=128, verbose_name='Title')),
                ('description', models.CharField(help_text='Describe the task in a few sentences: what to do, how long it takes, what happens next.', max_length=2000, verbose_name='Description')),
                ('keywords', models.CharField(blank=True, help_text='Separated by commas; some platforms search by them.', max_length=1000, verbose_name='Keywords')),
                ('stories_per_visit', models.PositiveSmallIntegerField(default=0, help_text='How many stories a participant answers for one reward.', verbose_name='Stories per submission')),
                ('seats', models.PositiveIntegerField(help_text='How many submissions you offer in total. The suggestion covers all votes still needed, including hidden checks.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='Places')),
                ('seats_per_posting', models.PositiveSmallIntegerField(help_text='From 10 on Mechanical Turk charged another 20 %.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='People per HIT')),
                ('reward', models.DecimalField(decimal_places=2, help_text='The suggestion is the expected time at the study’s hourly rate.', max_digits=8, verbose_name='Reward per submission')),
                ('screen_out_reward', models.DecimalField(blank=True, decimal_places=2, help_text='Empty: everybody gets the reward. Otherwise less than it, and still fair for the time: the platform pays this automatically and offers the place again. Name both in the description.', max_digits=8, null=True, verbose_name='Reward if the test is not passed')),
                ('currency', models.CharField(default='USD', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}$', 'Three capital letters, like USD.')], verbose_name='Currency')),
                ('minutes_expected', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='Expected minutes')),
                ('minutes_allowed', models.PositiveIntegerField(help_text='After this time the platform offers the place to somebody else.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='Minutes allowed')),
                ('days_open', models.PositiveSmallIntegerField(default=7, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)], verbose_name='Days on offer')),
                ('days_to_review', models.PositiveSmallIntegerField(default=14, help_text='After this time the platform approves and pays automatically.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(30)], verbose_name='Days to decide about submissions')),
                ('counts_unconfirmed', models.BooleanField(default=False, help_text='Faster. Votes of visits that it does not confirm are removed again.', verbose_name='Count votes before the platform has confirmed the visit')),
                ('auto_approves', models.BooleanField(default=True, help_text='You can still exclude poor votes from the data, but they are paid.', verbose_name='Approve confirmed submissions automatically')),
                ('approved_percent', models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100)], verbose_name='Approval rate of earlier work, at least (%)')),
                ('approved_work', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1000000)], verbose_name='Approved earlier submissions, at least')),
                ('countries', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=2), blank=True, default=list, size=None)),
                ('masters_only', models.BooleanField(default=False, verbose_name='Only “Masters” (Mechanical Turk charged another 5 %)')),
                ('remote_id', models.CharField(blank=True, help_text='The platform’s own: a HIT type, a Prolific study.', max_length=64)),
                ('qualified_group', models.CharField(blank=True, help_text='The platform’s group of people who passed the test.', max_length=64)),
                ('incomplete_group', models.CharField(blank=True, help_text='The platform’s group of people who left work unfinished.', max_length=64)),
                ('completion_code', models.CharField(blank=True, max_length=40)),
                ('screen_out_code', models.CharField(blank=True, max_length=40)),
                ('problem', models.TextField(blank=True, help_text='What the platform said last, if it refused.')),
                ('sync_problem', models.TextField(blank=True, db_default='', help_text='Why the last comparison with the platform failed, if it did.')),
                ('platform_offer', models.CharField(blank=True, choices=[('', 'people can begin'), ('paused', 'paused there'), ('over', 'every place is taken, or it was ended there')], db_default='', default='', help_text='Whether people can begin on the platform, as it said when it was last asked.', max_length=10)),
                ('platform_offer_since', models.DateTimeField(blank=True, help_text='When it was first noticed that nobody new can begin there.', null=True)),
                ('waits_for_stories', models.BooleanField(db_default=False, default=False, help_text='Paused automatically because no story was left; it resumes when one is.')),
                ('concurrency_limit', models.PositiveIntegerField(blank=True, help_text='How many people the platform lets work at the same time.', null=True)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, help_text='When the platform was last asked.', null=True)),
                ('offered_until', models.DateTimeField(blank=True, help_text='When the offer ends by itself; empty where it does not.', null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='annotation.study')),
            ],
            options={
                'ordering': ('study', 'number'),
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('link', 'personal link'), ('email', 'e-mail'), ('prolific', 'Prolific'), ('mturk', 'Mechanical Turk')], max_length=20)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('kind', models.CharField(choices=[('qualified', 'passed the test'), ('incomplete', 'left work unfinished')], max_length=20)),
                ('state', models.CharField(choices=[('requested', 'to be sent'), ('done', 'done'), ('failed', 'refused by the platform'), ('leaving', 'to be removed'), ('left', 'removed')], default='requested', max_length=10)),
                ('set_manually', models.BooleanField(db_default=False, default=False, help_text='A researcher has put the person in or taken them out: no comparison does otherwise.')),
                ('tries', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(blank=True, help_text='Not before: it waits for credentials that are accepted.', null=True)),
                ('waits_since', models.DateTimeField(blank=True, help_text='Since when it waits for those.', null=True)),
                ('problem', models.TextField(blank=True)),
                ('requested_at', models.DateTimeField()),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='accounts.annotator')),
                ('campaign', models.ForeignKey(help_text='In which it was earned.', on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='recruitment.campaign')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='JoinLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('parameter', models.CharField(default='participant', help_text='The platform passes the participant’s id under this name, for example participantId.', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z][A-Za-z0-9_]*\\Z', '“%(value)s” is not a name like participant or PROLIFIC_PID.')], verbose_name='Parameter name')),
                ('adds_parameter', models.BooleanField(default=False, verbose_name='The platform adds this parameter automatically')),
                ('placeholder', models.CharField(blank=True, help_text='The platform or mailer replaces it with the id. Empty: the id is appended to the address.', max_length=60, validators=[django.core.validators.RegexValidator('^[^&#\\x00-\\x1f\\x7f]*\\Z', 'At most 60 characters, without & and #.')], verbose_name='Placeholder')),
                ('source', models.CharField(blank=True, help_text='The same id is the same person in all studies with the same source. Empty: ids are not shared with other studies. You cannot change this once people have joined.', max_length=60, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9-]*\\Z', '“%(value)s” is not a short name of small letters, digits and hyphens.')], verbose_name='Source of the ids')),
                ('return_url', models.CharField(blank=True, help_text='An address on the platform; we fill in {code} and {participant}. Empty: participants only see their code.', max_length=500, validators=[recruitment.models.visits.check_return_address], verbose_name='Way back after completing the study')),
                ('screen_out_url', models.CharField(blank=True, help_text='Empty: the address above if it contains {code} (with a different code), otherwise only the code.', max_length=500, validators=[recruitment.models.visits.check_return_address], verbose_name='Way back after the test only, or too few stories')),
                ('least_stories', models.PositiveIntegerField(blank=True, help_text='A participant has completed the study after so many stories. With fewer, the code says “partial”. Empty: one story.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Stories that complete the study')),
                ('leave_url', models.CharField(blank=True, help_text='For people who do not consent, for example. It must not report “completed”. Empty: participants are asked to return their submission.', max_length=500, validators=[recruitment.models.visits.check_return_address, django.core.validators.RegexValidator('\\{code\\}', 'Someone who did nothing has no code, so {code} cannot be in it.', inverse_match=True)], verbose_name='Way back if no work was done')),
                ('most_people', models.PositiveIntegerField(blank=True, help_text='The link closes once so many have joined. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='Maximum number of participants')),
                ('closes_at', models.DateTimeField(blank=True, help_text='Newcomers cannot join after this; everybody else can go on. Empty: as long as the study is open.', null=True, verbose_name='Closes at (UTC)')),
                ('set_at', models.DateTimeField()),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='join_link', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='LinkPayment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=8)),
                ('currency', models.CharField(max_length=3)),
                ('reason', models.TextField(help_text='How the person was paid; for the log.')),
                ('request_token', models.UUIDField(default=uuid.uuid4, editable=False, help_text='Of the form or file by which it was noted, once.')),
                ('noted_at', models.DateTimeField()),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='link_payments', to='annotation.enrollment')),
                ('noted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Posting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('wanted', 'not on the platform yet'), ('made', 'on the platform'), ('paused', 'nobody new can take it for now'), ('ended', 'nobody new can take it')], default='wanted', max_length=10)),
                ('seats', models.PositiveSmallIntegerField()),
                ('request_token', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('first_asked_at', models.DateTimeField(blank=True, help_text='When the platform was first asked to make it.', null=True)),
                ('remote_id', models.CharField(blank=True, help_text='The HIT, or the Prolific study.', max_length=64)),
                ('made_at', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, help_text='When the platform last said what was done in it.', null=True)),
                ('offered_until', models.DateTimeField(blank=True, help_text='As the campaign’s, as far as the platform has been told.', null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='postings', to='recruitment.campaign')),
            ],
            options={
                'ordering': ('campaign', 'number'),
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('link', 'personal link'), ('email', 'e-mail'), ('prolific', 'Prolific'), ('mturk', 'Mechanical Turk')], max_length=20)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('remote_id', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('active', 'being worked on'), ('submitted', 'handed in'), ('approved', 'approved'), ('rejected', 'rejected'), ('returned', 'returned'), ('timed_out', 'ran out of time'), ('screened_out', 'screened out'), ('unknown', 'unknown')], max_length=20)),
                ('receipt', models.CharField(blank=True, help_text='The receipt that was handed in with it.', max_length=40)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='accounts.annotator')),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='recruitment.campaign')),
                ('posting', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='recruitment.posting')),
            ],
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('approval', 'approval'), ('rejection', 'rejection'), ('overturn', 'rejection overturned'), ('bonus', 'bonus'), ('top_up', 'top-up to the hourly rate'), ('outside', 'paid outside the platform')], max_length=10)),
                ('state', models.CharField(choices=[('requested', 'to be sent'), ('sending', 'sent, not answered yet'), ('done', 'done'), ('failed', 'not carried out'), ('withdrawn', 'undone')], default='requested', max_length=10)),
                ('decided_by_platform', models.BooleanField(db_default=False, default=False, help_text='The platform decided it without us: on its own pages, or by its clock.')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=8)),
                ('currency', models.CharField(max_length=3)),
                ('reason', models.TextField(blank=True, help_text='The person reads it.')),
                ('category', models.CharField(blank=True, help_text='Of a rejection, where one is asked for.', max_length=40)),
                ('votes_count', models.BooleanField(db_default=False, default=False)),
                ('request_token', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('remote_id', models.CharField(blank=True, help_text='The platform’s, where it gives one.', max_length=64)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('sending_until', models.DateTimeField(blank=True, help_text='Until then one worker is sending it, and no other tries.', null=True)),
                ('next_try_at', models.DateTimeField(blank=True, help_text='Not before: it waits for credentials that are accepted, or for money.', null=True)),
                ('waits_since', models.DateTimeField(blank=True, help_text='Since when it waits for those.', null=True)),
                ('problem', models.TextField(blank=True)),
                ('requested_at', models.DateTimeField()),
                ('first_sent_at', models.DateTimeField(blank=True, null=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('repeats', models.OneToOneField(blank=True, help_text='The refused payment that this one retries, or records as paid outside the platform.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='repeated_by', to='recruitment.payment')),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('pays_for', models.ForeignKey(blank=True, help_text='Of a bonus: the person’s other work that it pays, and that the platform did not list.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payments_elsewhere', to='recruitment.submission')),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='recruitment.submission')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Visit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('link', 'personal link'), ('email', 'e-mail'), ('prolific', 'Prolific'), ('mturk', 'Mechanical Turk')], max_length=20)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('arrived_at', models.DateTimeField()),
                ('remote_id', models.CharField(blank=True, help_text='The platform’s id of this piece of work.', max_length=64)),
                ('submit_to', models.CharField(blank=True, help_text='The platform’s site to which the work is handed in.', max_length=200)),
                ('receipt', models.CharField(blank=True, help_text='Goes to the platform with the work, and comes back from it.', max_length=40)),
                ('handed_in_at', models.DateTimeField(blank=True, help_text='When the person was first sent to hand it in.', null=True)),
                ('decided_manually', models.BooleanField(db_default=False, default=False, help_text='A researcher has said whether its votes count: no comparison says otherwise.')),
                ('return_reported_at', models.DateTimeField(blank=True, help_text='When the platform told that this person gave the work back or let it run out.', null=True)),
                ('ended_by', models.CharField(blank=True, choices=[('left', 'left or returned'), ('no_story', 'no story left'), ('limit', 'limit reached'), ('time', 'time over'), ('stopped', 'suspended, or study paused')], db_default='', default='', help_text='Why it ended with less work than asked for.', max_length=10)),
                ('replaced_at', models.DateTimeField(blank=True, help_text='When the same person took the same piece of work anew.', null=True)),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='visits', to='recruitment.campaign')),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='visits', to='annotation.enrollment')),
                ('posting', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='visits', to='recruitment.posting')),
                ('session', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='visit', to='annotation.worksession')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.AddField(
            model_name='submission',
            name='visit',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submission', to='recruitment.visit'),
        ),
        migrations.CreateModel(
            name='Mismatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('no_data', 'handed in there, no answers here'), ('wrong_receipt', 'handed in there without our receipt'), ('not_handed_in', 'done here, not handed in there'), ('decided_by_platform', 'decided on the platform'), ('submitted_late', 'handed in after we had given up waiting'), ('partial', 'handed in with fewer stories than asked for'), ('paid_otherwise', 'paid outside the platform, then handed in there')], max_length=20)),
                ('noticed_at', models.DateTimeField()),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('settled_how', models.TextField(blank=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='mismatches', to='recruitment.campaign')),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='mismatches', to='recruitment.submission')),
                ('visit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='mismatches', to='recruitment.visit')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='one_campaign_per_number_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('platform__in', ['mturk', 'prolific'])), name='campaign_is_on_a_platform'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('purpose', 'test'), ('stories_per_visit', 0)), models.Q(('purpose', 'stories'), ('stories_per_visit__gte', 1)), _connector='OR'), name='campaign_asks_for_a_test_or_for_stories'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('reward__gt', 0), ('seats__gte', 1), ('seats_per_posting__gte', 1)), name='campaign_asks_and_pays'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('screen_out_reward', None), models.Q(('purpose', 'test'), ('screen_out_reward__gt', 0), ('screen_out_reward__lt', models.F('reward'))), _connector='OR'), name='campaign_screens_out_of_the_test_for_less'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('platform_offer', ''), ('platform_offer_since', None)), models.Q(models.Q(('platform_offer', ''), _negated=True), ('platform_offer_since__isnull', False)), _connector='OR'), name='platform_offer_stopped_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('minutes_allowed__gte', models.F('minutes_expected')), ('minutes_expected__gte', 1)), name='campaign_allows_the_time_it_takes'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='campaign',
            trigger=pgtrigger.compiler.Trigger(name='campaign_is_of_the_studys_environment', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (SELECT FROM annotation_study s\n                   WHERE s.id = NEW.study_id AND s.environment = NEW.environment) THEN\n        RAISE EXCEPTION 'a campaign is live in a live study and a rehearsal in a rehearsal';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='f77be96a55693c871349945e6c3e1e808b40fafe', operation='INSERT', pgid='pgtrigger_campaign_is_of_the_studys_environment_df708', table='recruitment_campaign', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='campaign',
            trigger=pgtrigger.compiler.Trigger(name='campaign_stays_where_it_is', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."study_id" IS DISTINCT FROM (NEW."study_id") OR OLD."number" IS DISTINCT FROM (NEW."number") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."environment" IS DISTINCT FROM (NEW."environment") OR OLD."purpose" IS DISTINCT FROM (NEW."purpose"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='f22f72aaf890b9473dc3a9552f9f8d8b9d8614d7', operation='UPDATE', pgid='pgtrigger_campaign_stays_where_it_is_decaf', table='recruitment_campaign', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(fields=('study', 'platform', 'environment', 'annotator', 'kind'), name='one_grant_of_a_kind'),
        ),
        migrations.AddConstraint(
            model_name='joinlink',
            constraint=models.CheckConstraint(condition=models.Q(('parameter__regex', '^[A-Za-z][A-Za-z0-9_]{0,39}$')), name='join_link_parameter_is_a_name'),
        ),
        migrations.AddConstraint(
            model_name='joinlink',
            constraint=models.CheckConstraint(condition=models.Q(('return_url', ''), ('return_url__startswith', 'https://'), _connector='OR'), name='join_link_leads_back_by_https'),
        ),
        migrations.AddConstraint(
            model_name='joinlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('screen_out_url', ''), ('screen_out_url__startswith', 'https://'), _connector='OR'), models.Q(('leave_url', ''), ('leave_url__startswith', 'https://'), _connector='OR')), name='join_link_leads_out_by_https'),
        ),
        migrations.AddConstraint(
            model_name='joinlink',
            constraint=models.CheckConstraint(condition=models.Q(('leave_url__contains', '{code}'), _negated=True), name='no_code_for_who_did_nothing'),
        ),
        migrations.AddConstraint(
            model_name='joinlink',
            constraint=models.CheckConstraint(condition=models.Q(('least_stories', None), ('least_stories__gte', 1), _connector='OR'), name='join_link_asks_for_a_story_or_more'),
        ),
        migrations.AddConstraint(
            model_name='linkpayment',
            constraint=models.UniqueConstraint(fields=('request_token', 'enrollment'), name='one_link_payment_per_request_and_person'),
        ),
        migrations.AddConstraint(
            model_name='linkpayment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount', 0), _negated=True), models.Q(('reason', ''), _negated=True)), name='link_payment_has_an_amount_and_a_reason'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='linkpayment',
            trigger=pgtrigger.compiler.Trigger(name='link_payment_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='abac8bcc0ac2c64ffcd5e71107c5a4f0f91995b2', operation='DELETE', pgid='pgtrigger_link_payment_stays_e3cb9', table='recruitment_linkpayment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='linkpayment',
            trigger=pgtrigger.compiler.Trigger(name='link_payment_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='e1a61f5f280d3c9f77d9956b2f2cd5ab4fe5bf17', operation='UPDATE', pgid='pgtrigger_link_payment_is_final_ebad4', table='recruitment_linkpayment', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='posting',
            index=models.Index(fields=['remote_id'], name='postings_by_remote_id'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.UniqueConstraint(fields=('campaign', 'number'), name='one_posting_per_number'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.UniqueConstraint(condition=models.Q(('remote_id', ''), _negated=True), fields=('campaign', 'remote_id'), name='one_posting_per_remote_id'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('made_at', None), ('remote_id', ''), ('state', 'wanted')), models.Q(models.Q(('state', 'wanted'), _negated=True), models.Q(('remote_id', ''), _negated=True), ('made_at__isnull', False)), _connector='OR'), name='posting_is_made_or_wanted'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['state', 'id'], name='payments_not_done'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('decided_by_platform', False), ('kind__in', ['approval', 'rejection']), models.Q(('state__in', ['failed', 'withdrawn']), _negated=True)), fields=('submission',), name='one_decision_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('decided_by_platform', True)), fields=('submission',), name='one_decision_by_platform_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'overturn'), models.Q(('state', 'failed'), _negated=True)), fields=('submission',), name='one_overturning_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'top_up'), models.Q(('state', 'failed'), _negated=True)), fields=('submission',), name='one_top_up_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount', 0), ('kind', 'rejection'), models.Q(('reason', ''), _negated=True)), models.Q(('amount__gte', 0), ('kind__in', ['approval', 'overturn'])), models.Q(('amount__gt', 0), ('kind__in', ['bonus', 'top_up', 'outside']), models.Q(('reason', ''), _negated=True)), _connector='OR'), name='payment_has_an_amount_and_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'outside'), _negated=True), models.Q(('requested_by__isnull', False), ('state', 'done'), ('tries', 0)), _connector='OR'), name='payment_outside_is_somebodys_word_and_never_sent'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('decided_by_platform', False), models.Q(('kind', 'approval'), ('requested_by', None), ('state', 'done'), ('tries', 0)), _connector='OR'), name='payment_by_platform_is_an_approval_never_sent'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('settled_at', None), ('state__in', ['requested', 'sending'])), models.Q(('settled_at__isnull', False), ('state__in', ['done', 'failed', 'withdrawn'])), _connector='OR'), name='payment_is_settled_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'withdrawn'), _negated=True), ('kind', 'rejection'), _connector='OR'), name='only_rejections_are_taken_back'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('pays_for', None), ('kind', 'bonus'), _connector='OR'), name='only_a_bonus_pays_other_work'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('votes_count', False), ('kind', 'overturn'), _connector='OR'), name='only_overturning_lets_votes_count'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='payment',
            trigger=pgtrigger.compiler.Trigger(name='payment_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='c6a975bf8975e823723aff14f8c0ff9b455b6b11', operation='DELETE', pgid='pgtrigger_payment_stays_1288a', table='recruitment_payment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='payment',
            trigger=pgtrigger.compiler.Trigger(name='payment_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."submission_id" IS DISTINCT FROM (NEW."submission_id") OR OLD."pays_for_id" IS DISTINCT FROM (NEW."pays_for_id") OR OLD."repeats_id" IS DISTINCT FROM (NEW."repeats_id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."amount" IS DISTINCT FROM (NEW."amount") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."votes_count" IS DISTINCT FROM (NEW."votes_count") OR OLD."request_token" IS DISTINCT FROM (NEW."request_token"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='00dc29abfaa0aaffb05a39fb7440562557a8829f', operation='UPDATE', pgid='pgtrigger_payment_is_final_1d59b', table='recruitment_payment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='payment',
            trigger=pgtrigger.compiler.Trigger(name='settled_payment_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."state" IN (\'done\', \'failed\', \'withdrawn\'))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='c3bb8a0a6cdc0f978c94af0b8c2bb96b4c716aec', operation='UPDATE', pgid='pgtrigger_settled_payment_is_final_bbdd1', table='recruitment_payment', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='visit',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('remote_id', ''), _negated=True), ('replaced_at', None)), fields=('platform', 'environment', 'remote_id', 'enrollment'), name='one_visit_per_piece_of_work_and_person'),
        ),
        migrations.AddConstraint(
            model_name='visit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('campaign', None), ('receipt', ''), ('remote_id', ''), ('session', None)), models.Q(('campaign__isnull', False), ('session__isnull', False), models.Q(('remote_id', ''), _negated=True), models.Q(('receipt', ''), _negated=True)), _connector='OR'), name='visit_is_for_a_campaign_or_not'),
        ),
        migrations.AddConstraint(
            model_name='visit',
            constraint=models.CheckConstraint(condition=models.Q(('replaced_at', None), models.Q(('remote_id', ''), _negated=True), _connector='OR'), name='only_submissions_are_retaken'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='visit',
            trigger=pgtrigger.compiler.Trigger(name='replaced_visit_is_given_up', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NEW.replaced_at IS NOT NULL AND NOT EXISTS (\n        SELECT FROM annotation_worksession w WHERE w.id = NEW.session_id AND w.state = 'doubted') THEN\n        RAISE EXCEPTION 'a visit whose votes may still count is not replaced';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='7237aa74821c54563a78d68267d8134601caf181', operation='INSERT OR UPDATE OF "replaced_at"', pgid='pgtrigger_replaced_visit_is_given_up_c15fa', table='recruitment_visit', when='AFTER')),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(fields=['campaign', 'status', 'id'], name='work_by_status'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(fields=['campaign', 'id'], name='work_of_campaign'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.UniqueConstraint(fields=('platform', 'environment', 'remote_id', 'annotator'), name='one_submission_per_piece_of_work_and_person'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(('remote_id', ''), _negated=True), name='submission_is_named'),
        ),
        migrations.AddIndex(
            model_name='mismatch',
            index=models.Index(condition=models.Q(('settled_at', None)), fields=['campaign', 'id'], name='open_mismatches_of_campaign'),
        ),
        migrations.AddConstraint(
            model_name='mismatch',
            constraint=models.UniqueConstraint(fields=('visit', 'kind'), name='one_mismatch_of_a_kind_per_visit'),
        ),
        migrations.AddConstraint(
            model_name='mismatch',
            constraint=models.UniqueConstraint(fields=('submission', 'kind'), name='one_mismatch_of_a_kind_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='mismatch',
            constraint=models.CheckConstraint(condition=models.Q(('visit__isnull', False), ('submission__isnull', False), _connector='OR'), name='mismatch_is_about_something'),
        ),
        migrations.AddConstraint(
            model_name='mismatch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('settled_at', None), ('settled_by', None), ('settled_how', '')), models.Q(('settled_at__isnull', False), models.Q(('settled_how', ''), _negated=True)), _connector='OR'), name='mismatch_is_settled_somehow_or_open'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='mismatch',
            trigger=pgtrigger.compiler.Trigger(name='mismatch_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='9f3d9a417d9471fbab72192ac23b9a9f7e14d47d', operation='DELETE', pgid='pgtrigger_mismatch_stays_34683', table='recruitment_mismatch', when='BEFORE')),
        ),
    ]
