import annotation.alert_kinds
import annotation.models.enrollments
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('reserved', 'reserved'), ('leased', 'leased'), ('submitted', 'answered, counted'), ('surplus', 'answered, surplus'), ('expired', 'lease ran out'), ('excluded', 'answered, excluded'), ('displaced', 'answered, surplus: the slot was filled while it was excluded'), ('pending', 'answered, counts once the platform confirms the visit'), ('doubted', 'answered, not confirmed by the platform'), ('skipped', 'skipped')], default='leased', max_length=10)),
                ('slot', models.PositiveSmallIntegerField(blank=True, help_text='None for a hidden check, which anybody may answer.', null=True)),
                ('slots', models.PositiveSmallIntegerField(help_text='Votes per story (at most) when this was assigned; 0 for a hidden check.')),
                ('place', models.PositiveSmallIntegerField(blank=True, help_text='Number among the annotator’s answers in this stratum.', null=True)),
                ('load', models.PositiveSmallIntegerField(blank=True, help_text='The stratum’s load when this was reserved.', null=True)),
                ('given', models.BooleanField(db_default=False, default=False, help_text='Given to the annotator by name, and not taken back.')),
                ('order_position', models.PositiveIntegerField(help_text="The position of this story among the annotator's stories.")),
                ('order_seed', models.PositiveIntegerField(blank=True, help_text='Seed of the annotator’s own start in the serving order; empty: the study’s.', null=True)),
                ('option_seed', models.PositiveIntegerField(blank=True, help_text='Seed of the order of the options; empty: the protocol’s order.', null=True)),
                ('served_at', models.DateTimeField()),
                ('lease_expires_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveSmallIntegerField(default=1)),
                ('protocol_version', models.CharField(max_length=20)),
                ('language', models.CharField(default='en', help_text='The language in which the form was shown.', max_length=10)),
                ('story_hash', models.CharField(max_length=64)),
                ('order_position', models.PositiveIntegerField()),
                ('order_seed', models.PositiveIntegerField(blank=True, null=True)),
                ('option_seed', models.PositiveIntegerField(blank=True, null=True)),
                ('served_at', models.DateTimeField()),
                ('first_submitted_at', models.DateTimeField(help_text='When the person first answered; a changed answer keeps it.')),
                ('submitted_at', models.DateTimeField()),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('surplus_reason', models.CharField(blank=True, choices=[('', 'counts'), ('late', 'too late: the lease had expired and the slot was taken (or the participant’s set was full)'), ('not_qualified', 'the participant was no longer qualified when it arrived')], default='', max_length=20)),
                ('trusted_events', models.PositiveSmallIntegerField(blank=True, help_text='Clicks and key presses that the browser reports as trusted.', null=True)),
                ('untrusted_events', models.PositiveSmallIntegerField(blank=True, help_text='Clicks and keys of a script. Empty: not known.', null=True)),
                ('assignment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='votes', to='annotation.assignment')),
            ],
        ),
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('study', 'version'),
            },
        ),
        migrations.CreateModel(
            name='InstructionText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('page', models.TextField(help_text='Paragraphs between blank lines; a line “# Title” begins a section.')),
                ('examples', models.JSONField(blank=True, default=dict, help_text='Per question: parts, option or answer in words, and why.')),
                ('before_test', models.TextField(blank=True, help_text='Shown on the introduction of the test.')),
                ('thanks', models.TextField(blank=True, help_text='Shown to those who stop or have finished.')),
                ('created_at', models.DateTimeField()),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('study', 'version'),
            },
        ),
        migrations.CreateModel(
            name='Story',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('main', 'main'), ('qualification', 'qualification'), ('check', 'hidden check'), ('quiz', 'question of a quiz')], default='main', max_length=20)),
                ('story_id', models.CharField(max_length=100)),
                ('core_id', models.CharField(max_length=100)),
                ('scenario_name', models.CharField(max_length=100)),
                ('story_prompt_example', models.CharField(blank=True, max_length=100)),
                ('severity_original', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('story_generator_model', models.CharField(max_length=100)),
                ('content', models.JSONField(help_text="The item, as the study's protocol parses it.")),
                ('harmfulness_predicted', models.JSONField(blank=True, default=list)),
                ('unethicality_predicted', models.JSONField(blank=True, default=list)),
                ('content_hash', models.CharField(max_length=64)),
                ('text_hash', models.CharField(help_text='Hash of the content alone, equal for stories with the same text.', max_length=64)),
                ('source_line', models.PositiveIntegerField()),
                ('order_key', models.BigIntegerField(help_text="Place in the study's seeded serving order.")),
                ('extra_votes', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Votes wanted beyond the study’s votes per story; maintained by annotation.actions.')),
                ('has_free_slot', models.BooleanField(help_text='The story has a free slot; maintained by annotation.actions.')),
                ('is_old_version', models.BooleanField(db_default=False, default=False, help_text='The story was revised: nobody is given this version any more.')),
            ],
            options={
                'verbose_name_plural': 'stories',
            },
        ),
        migrations.CreateModel(
            name='Stratum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('load', models.PositiveSmallIntegerField()),
            ],
            options={
                'verbose_name_plural': 'strata',
                'ordering': ('study', 'name'),
            },
        ),
        migrations.CreateModel(
            name='CheckKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('in_use', 'in use'), ('left_out', 'left out'), ('replaced', 'replaced')], default='in_use', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('story', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='check_keys', to='annotation.story')),
            ],
            options={
                'ordering': ('story', 'version'),
            },
        ),
        migrations.CreateModel(
            name='CheckOption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(max_length=40)),
                ('key', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='options', to='annotation.checkkey')),
            ],
            options={
                'ordering': ('key', 'question', 'row', 'option'),
            },
        ),
        migrations.CreateModel(
            name='CheckResult',
            fields=[
                ('vote', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='check_result', serialize=False, to='annotation.vote')),
                ('passed', models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('vote', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='comment', serialize=False, to='annotation.vote')),
                ('words', models.CharField(blank=True, max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=40)),
                ('row', models.CharField(blank=True, default='', max_length=40)),
                ('option', models.CharField(blank=True, max_length=40)),
                ('words', models.CharField(blank=True, db_default='', default='', help_text='Instead of an option, where the person’s own words are asked for.', max_length=1000)),
                ('counts_against', models.BooleanField(help_text='Whether the protocol counts this answer against the story; a copy, so that SQL can filter.')),
                ('seconds', models.FloatField(blank=True, help_text='From the answer before, or the story, to this one.', null=True)),
                ('vote', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='annotation.vote')),
            ],
        ),
        migrations.CreateModel(
            name='Enrollment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pseudonym', models.CharField(db_collation='C', editable=False, help_text='The name that votes are published under. Differs from study to study.', max_length=26)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('state', models.CharField(choices=[('invited', 'invited'), ('declined', 'declined'), ('consented', 'consented'), ('qualified', 'qualified'), ('failed', 'not qualified'), ('suspended', 'suspended'), ('withdrawn', 'withdrawn')], default='invited', max_length=20)),
                ('consented_at', models.DateTimeField(blank=True, null=True)),
                ('link_version', models.PositiveIntegerField(default=1, help_text='The version that valid personal links are signed with.')),
                ('link_nonce', models.BigIntegerField(default=annotation.models.enrollments._random_number, editable=False, help_text='Random. A restored database reuses numbers, so links sign this value, too.')),
                ('suspension_reason', models.CharField(blank=True, help_text='Shown to the annotator while they are suspended.', max_length=300)),
                ('stories_submitted', models.PositiveIntegerField(default=0, help_text='Answered, or skipped within the allowance. Maintained by annotation.actions.')),
                ('stories_skipped', models.PositiveIntegerField(default=0, help_text='All skips in force. Maintained by annotation.actions.')),
                ('order_key_reached', models.BigIntegerField(blank=True, help_text='Place of their newest story in an order of their own.', null=True)),
                ('given_items', models.BooleanField(db_default=False, default=False, help_text='Stories were given to them by name, so these are looked for first.')),
                ('warned_after', models.PositiveIntegerField(blank=True, help_text='Number of answered stories at which they were warned about failed hidden checks.', null=True)),
                ('checks_from', models.PositiveIntegerField(default=0, help_text='Hidden checks among this many first stories no longer count against them.')),
                ('language', models.CharField(blank=True, help_text='The language they chose for the pages; empty: the browser’s.', max_length=10)),
                ('working_since', models.DateTimeField(blank=True, help_text='When the current stretch of work without a long break began.', null=True)),
                ('last_submitted_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField()),
                ('state_changed_at', models.DateTimeField()),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='enrollments', to='accounts.annotator')),
                ('consent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.consenttext')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='enrollment',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.enrollment'),
        ),
        migrations.AddField(
            model_name='vote',
            name='instructions',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The study’s own instructions that were shown; empty: the protocol’s.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.instructiontext'),
        ),
        migrations.CreateModel(
            name='IntakeAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(choices=[('age', 'age'), ('first_language', 'first_language'), ('gender', 'gender'), ('education', 'education'), ('country', 'country'), ('ai_tools', 'ai_tools')], max_length=20)),
                ('option', models.CharField(blank=True, help_text='Empty: they prefer not to say.', max_length=20)),
                ('enrollment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='intake_answers', to='annotation.enrollment')),
            ],
        ),
        migrations.CreateModel(
            name='ReviewSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('random', 'at random'), ('flagged', 'answers that stand out')], max_length=10)),
                ('among', models.CharField(choices=[('everybody', 'everybody'), ('flagged', 'people with a flag'), ('person', 'one person')], default='everybody', help_text='The annotators whose answers it was drawn from.', max_length=10)),
                ('people', models.PositiveSmallIntegerField(help_text='The largest number of annotators.')),
                ('per_person', models.PositiveSmallIntegerField(help_text='The largest number of answers of each annotator.')),
                ('seed', models.BigIntegerField()),
                ('drawn_at', models.DateTimeField()),
                ('drawn_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='ReviewItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('flag', models.CharField(blank=True, choices=[('', 'drawn at random'), ('quick', 'in less than a third of the person’s usual time'), ('alone', 'the only one against a story with all its votes')], default='', max_length=10)),
                ('vote', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='review_items', to='annotation.vote')),
                ('sample', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotation.reviewsample')),
            ],
            options={
                'ordering': ('sample', 'position'),
            },
        ),
        migrations.CreateModel(
            name='SpotCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(choices=[('accept', 'accepted'), ('uncounted', 'accepted, not counted'), ('reject', 'rejected')], max_length=10)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='spot_checks', to='annotation.reviewitem')),
                ('vote', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='spot_checks', to='annotation.vote')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='StoryWords',
            fields=[
                ('story', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='searched', serialize=False, to='annotation.story')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.CreateModel(
            name='LintFinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=40)),
                ('field', models.CharField(blank=True, max_length=40)),
                ('message', models.TextField()),
                ('story', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lint_findings', to='annotation.story')),
            ],
            options={
                'ordering': ('story', 'pk'),
            },
        ),
        migrations.AddField(
            model_name='assignment',
            name='story',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.story'),
        ),
        migrations.CreateModel(
            name='Adjudication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(blank=True, max_length=40)),
                ('row', models.CharField(blank=True, max_length=40)),
                ('verdict', models.CharField(max_length=1000)),
                ('reason', models.CharField(max_length=1000)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('story', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='annotation.story')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='StoryImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(max_length=20)),
                ('file_name', models.CharField(max_length=200)),
                ('file', models.FileField(blank=True, upload_to='imports/')),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('license', models.CharField(blank=True, help_text='Of the file; empty: not stated.', max_length=100)),
                ('dry_run', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('imported', 'imported'), ('checked', 'checked, nothing saved (dry run)'), ('refused', 'refused'), ('cancelled', 'cancelled, nothing saved')], default='queued', max_length=10)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('rows_read', models.PositiveIntegerField(default=0)),
                ('stories_added', models.PositiveIntegerField(default=0)),
                ('stories_unchanged', models.PositiveIntegerField(default=0)),
                ('findings', models.PositiveIntegerField(default=0)),
                ('findings_by_code', models.JSONField(blank=True, default=dict, help_text='Number and first examples of each kind of warning.')),
                ('problems_found', models.PositiveIntegerField(default=0)),
                ('requested_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-requested_at',),
            },
        ),
        migrations.AddField(
            model_name='story',
            name='story_import',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stories', to='annotation.storyimport'),
        ),
        migrations.CreateModel(
            name='ImportProblem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('column', models.PositiveIntegerField(default=0)),
                ('field', models.CharField(blank=True, max_length=100)),
                ('message', models.TextField()),
                ('remedy', models.TextField()),
                ('story_import', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='problems', to='annotation.storyimport')),
            ],
            options={
                'ordering': ('line', 'column', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='StoryRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=1000)),
                ('at', models.DateTimeField()),
                ('after', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='revised_from', to='annotation.story')),
                ('before', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='revised_to', to='annotation.story')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.AddField(
            model_name='assignment',
            name='stratum',
            field=models.ForeignKey(blank=True, db_index=False, help_text='Empty: given out without a design.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.stratum'),
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('title', models.CharField(help_text='Shown at the top of every page.', max_length=200, verbose_name='Title')),
                ('description', models.TextField(blank=True, help_text='A few sentences in the invitation, on the first page, and in the card of a release.', verbose_name='Description')),
                ('protocol_name', models.CharField(max_length=40)),
                ('protocol_version', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('open', 'open'), ('paused', 'paused'), ('closed', 'closed')], default='draft', max_length=10)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], default='live', max_length=20)),
                ('gate', models.CharField(choices=[('not_required', 'no qualification asked'), ('missing', 'qualification asked, no round ready'), ('ready', 'qualification round ready')], default='missing', max_length=20)),
                ('votes_per_story', models.PositiveSmallIntegerField(default=3, help_text='How many participants judge each story. In the published procedure: 3.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(99)], verbose_name='Votes per story')),
                ('most_votes', models.PositiveSmallIntegerField(blank=True, help_text='Empty: every story gets the same number. Otherwise a story gets one more vote at a time until no further vote could change its outcome, or until it has this many.', null=True, validators=[django.core.validators.MinValueValidator(2), django.core.validators.MaxValueValidator(99)], verbose_name='Votes per story at most')),
                ('decided_by', models.CharField(choices=[('all-agree', 'all agree'), ('two-of-three', 'two of three'), ('majority', 'majority on every question'), ('experts-decide-splits', 'experts decide splits')], default='all-agree', help_text='Only with a number of votes at most. Releases then use this filter, too. A story ends as soon as the votes that could still come cannot change its outcome: with a majority of at most 5, after three that agree.', max_length=30, verbose_name='Filter that decides whether a story needs more votes')),
                ('story_cap', models.PositiveIntegerField(default=500, help_text='In the published procedure: 500.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='Story limit per participant')),
                ('lease_minutes', models.PositiveSmallIntegerField(default=30, help_text='How long a story stays reserved; an open page renews this up to four times as long.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='Lease in minutes')),
                ('change_hours', models.PositiveSmallIntegerField(default=24, help_text='Participants can change an answer until it is released. 0: never.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(10000)], verbose_name='Hours to change an answer')),
                ('stall_hours', models.PositiveSmallIntegerField(default=24, help_text='An open study without votes for so long has stalled. 0: never.', verbose_name='Hours without votes')),
                ('skip_allowance', models.PositiveSmallIntegerField(default=5, help_text='Stories that a participant may skip and be paid for like answers. Participants see this number, and can skip more without pay. A skipped story goes to somebody else.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(10000)], verbose_name='Paid skips per participant')),
                ('serving_order', models.CharField(choices=[('started', 'stories that others have started come first'), ('own', 'every participant starts at a place of their own'), ('given', 'only stories that you give to participants by name')], default='started', help_text='Finishing started stories first leaves few unfinished. With starts of their own, participants don’t all see the same stories early on, but most stories stay unfinished until near the end: see the forecast under Overview.', max_length=10, verbose_name='Order of stories')),
                ('option_order', models.CharField(choices=[('fixed', 'the same for everybody'), ('person', 'drawn for each participant')], default='fixed', help_text='Drawn for each participant: a scale may be turned round, a question’s own options may stand in any order. The order is recorded with each vote.', max_length=10, verbose_name='Order of answer options')),
                ('stratum_field', models.CharField(blank=True, choices=[('scenario_name', 'Scenario'), ('severity_original', 'Severity'), ('story_generator_model', 'Model'), ('story_prompt_example', 'Example')], db_default='', default='', help_text='The column by which the design divides the items into strata; empty: no design.', max_length=30)),
                ('incomplete_after', models.PositiveSmallIntegerField(db_default=3, default=3, help_text='After so many in a row, Mechanical Turk hides this study’s campaigns from a participant. A finished submission resets the count. 0: never.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100)], verbose_name='Unfinished submissions before exclusion')),
                ('answers_frozen_at', models.DateTimeField(blank=True, help_text='Answers saved before then are published and cannot change.', null=True)),
                ('check_every', models.PositiveSmallIntegerField(default=0, help_text='One hidden check per this many stories of an annotator; 0: none.')),
                ('check_minimum', models.PositiveSmallIntegerField(default=3, help_text='Number of answered checks from which failures have consequences.')),
                ('check_warn_percent', models.PositiveSmallIntegerField(blank=True, help_text='Share of failed checks that warns; empty: none does.', null=True)),
                ('check_suspend_percent', models.PositiveSmallIntegerField(blank=True, help_text='Share of failed checks that suspends; empty: none does.', null=True)),
                ('pay_rate', models.DecimalField(blank=True, decimal_places=2, help_text='Shown to participants. Empty: unpaid. You or the platform pay, not tomannot.', max_digits=8, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='Pay per hour')),
                ('currency', models.CharField(default='USD', help_text='Three capital letters, like USD.', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}\\Z', 'Three capital letters, like USD.')], verbose_name='Currency')),
                ('contact', models.EmailField(help_text='An e-mail address for questions, shown on every page.', max_length=254, verbose_name='Contact')),
                ('story_language', models.CharField(default='en', help_text='A tag such as en, de or pt-BR, so that screen readers pronounce stories correctly.', max_length=35, validators=[django.core.validators.RegexValidator('^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$')], verbose_name='Language of the stories')),
                ('license', models.CharField(default='CC-BY-4.0', help_text='The licence of your releases, like CC-BY-4.0.', max_length=60, verbose_name='Licence of the data')),
                ('intake_questions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('age', 'How old are you?'), ('first_language', 'What is your first language?'), ('gender', 'What is your gender?'), ('education', 'What is the highest level of education that you have finished?'), ('country', 'In which country do you live?'), ('ai_tools', 'Did you use an AI tool, such as a chatbot, for any of your answers?')], max_length=20), blank=True, default=list, help_text='Asked after the consent text, the one on AI tools at the end; people can leave each of them out.', size=None, verbose_name='Questions about participants')),
                ('intake_group', models.PositiveSmallIntegerField(default=5, help_text='The smallest group whose answers about themselves a release may count.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(10000)], verbose_name='Smallest published group')),
                ('intake_grouped_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('consent_version', models.PositiveSmallIntegerField(default=0)),
                ('serving_seed', models.PositiveBigIntegerField()),
                ('pseudonym_key', models.CharField(editable=False, max_length=64)),
                ('created_at', models.DateTimeField()),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('instructions', models.ForeignKey(blank=True, help_text='The study’s own instructions in force; empty: those of the protocol.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.instructiontext')),
                ('qualified_through', models.ForeignKey(blank=True, help_text='Only people who are qualified in that study may take part in this one.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qualifies_for', to='annotation.study')),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ('slug',),
            },
        ),
        migrations.AddField(
            model_name='stratum',
            name='study',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='strata', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='storyimport',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='story',
            name='study',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='stories', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='reviewsample',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='review_samples', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('researcher', 'researcher'), ('reviewer', 'reviewer'), ('auditor', 'auditor')], max_length=10)),
                ('alerts', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('expert_asked', 'an expert is asked for test answers'), ('key_ready', 'an answer key is ready'), ('study_complete', 'every story has all its votes'), ('study_stalled', 'no votes come in'), ('participant_flagged', 'a participant is flagged, warned or suspended'), ('payment_mismatch', 'a platform’s list differs from ours'), ('release_finished', 'a release is published or failed'), ('digest', 'daily digest'), ('test', 'a test')], max_length=30), blank=True, default=annotation.alert_kinds.usual_kinds, help_text='What the member is mailed about.', size=None)),
                ('language', models.CharField(blank=True, help_text='The language of these mails.', max_length=10)),
                ('added_at', models.DateTimeField()),
                ('added_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='annotation.study')),
            ],
            options={
                'ordering': ('study', 'added_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.EmailField(max_length=200)),
                ('role', models.CharField(choices=[('owner', 'owner'), ('researcher', 'researcher'), ('reviewer', 'reviewer'), ('auditor', 'auditor')], max_length=10)),
                ('nonce', models.CharField(editable=False, help_text='Part of the signed link, which is rebuilt from it.', max_length=32)),
                ('invited_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('mailed_at', models.DateTimeField(blank=True, help_text='When the mail server accepted the mail; empty if none was sent.', null=True)),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('invited_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='annotation.study')),
            ],
            options={
                'ordering': ('study', 'invited_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='IntakeGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=20)),
                ('option', models.CharField(max_length=20)),
                ('people', models.PositiveIntegerField()),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='intake_groups', to='annotation.study')),
            ],
        ),
        migrations.AddField(
            model_name='instructiontext',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='instruction_texts', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='Exclusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField()),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exclusions', to='accounts.annotator')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exclusions', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(choices=[('study_created', 'study created'), ('study_opened', 'study opened'), ('plan_fixed', 'study’s plan fixed'), ('study_paused', 'study paused'), ('study_closed', 'study closed'), ('study_completed', 'every story has all its votes'), ('study_stalled', 'no votes for a while'), ('study_made_rehearsal', 'study made a test run'), ('study_changed', 'study’s settings changed'), ('role_given', 'role given'), ('role_taken', 'role removed'), ('member_invited', 'colleague invited'), ('invitation_accepted', 'invitation accepted'), ('invitation_revoked', 'invitation revoked'), ('consent_text_added', 'consent text added'), ('instructions_set', 'instructions changed'), ('gate_changed', 'qualification gate changed'), ('admission_settled', 'admission set'), ('annotators_excluded', 'participants excluded'), ('baseline_drawn', 'sample drawn from a release'), ('stories_imported', 'stories imported'), ('import_refused', 'import refused'), ('import_cancelled', 'import cancelled'), ('annotator_invited', 'participant invited'), ('consent_given', 'consent given'), ('intake_answered', 'questions about themselves handed in'), ('intake_grouped', 'answers of participants about themselves counted'), ('consent_declined', 'consent declined'), ('consent_asked', 'asked for consent again'), ('test_given_back', 'test retake allowed'), ('enrollment_qualified', 'qualified'), ('enrollment_failed', 'not qualified'), ('enrollment_suspended', 'suspended'), ('enrollment_reinstated', 'reinstated'), ('story_skipped', 'story skipped'), ('items_given', 'stories given by name'), ('items_taken_back', 'stories given by name taken back'), ('lease_released', 'lease ended by a researcher'), ('vote_submitted', 'vote submitted'), ('vote_changed', 'vote changed'), ('annotator_excluded', 'participant’s votes excluded'), ('annotator_readmitted', 'participant’s votes readmitted'), ('vote_excluded', 'vote excluded'), ('vote_readmitted', 'vote readmitted'), ('review_sample_drawn', 'answers drawn for review'), ('vote_checked', 'vote reviewed'), ('story_revised', 'story revised'), ('story_adjudicated', 'story decided by an expert'), ('checks_changed', 'hidden checks changed'), ('check_failed', 'hidden check failed'), ('annotator_warned', 'warned after failed checks'), ('annotator_flagged', 'flagged'), ('answers_frozen', 'answers made final for a release'), ('answers_thawed', 'answers no longer final'), ('enrollment_withdrawn', 'withdrew'), ('link_mailed', 'personal link sent by e-mail'), ('link_not_mailed', 'mail not delivered'), ('link_revoked', 'personal link revoked'), ('address_given', 'e-mail address given'), ('address_confirmed', 'e-mail address confirmed'), ('address_forgotten', 'e-mail address removed'), ('join_link_set', 'join link set'), ('join_link_removed', 'join link removed'), ('identity_shown', 'platform ids viewed'), ('identity_erased', 'personal data deleted'), ('round_created', 'qualification round created'), ('answer_key_set', 'answer key set'), ('expert_asked', 'expert asked for the answer key'), ('expert_done', 'expert’s answers handed in'), ('round_changed', 'qualification round changed'), ('attempt_started', 'qualification attempt started'), ('attempt_submitted', 'qualification attempt handed in'), ('visit_arrived', 'visit started'), ('data_described', 'data statement written'), ('release_requested', 'release requested'), ('release_published', 'release published'), ('release_failed', 'release failed'), ('release_imported', 'release imported'), ('release_withdrawn', 'release withdrawn'), ('deposit_requested', 'deposit of a release started'), ('deposit_done', 'release deposited'), ('deposit_failed', 'deposit of a release failed'), ('api_token_made', 'API token created'), ('api_token_revoked', 'API token revoked'), ('campaign_created', 'campaign on a platform created'), ('campaign_changed', 'campaign on a platform changed'), ('platform_synced', 'work compared with the platform'), ('work_confirmed', 'work confirmed by the platform'), ('work_doubted', 'work not confirmed by the platform'), ('payment_requested', 'payment requested'), ('payment_sent', 'payment made'), ('payment_failed', 'payment failed'), ('mismatch_noticed', 'mismatch with a platform noticed'), ('alerts_changed', 'alerts or webhooks changed'), ('alerts_tested', 'test alert requested'), ('visit_refused', 'visit refused')], max_length=40)),
                ('subject', models.CharField(blank=True, max_length=100)),
                ('note', models.TextField(blank=True)),
                ('at', models.DateTimeField()),
                ('actor', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('enrollment', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='annotation.enrollment')),
                ('member', models.ForeignKey(blank=True, db_index=False, help_text='The researcher whose role it is about; user names can change.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='annotation.study')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.AddField(
            model_name='enrollment',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='enrollments', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='consenttext',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='consent_texts', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text="Its owner's name for it.", max_length=100)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('studies:read', 'see studies and how far they are'), ('studies:write', 'make and change studies, open and close them'), ('stories:read', 'list stories, and the reports of imports'), ('stories:write', 'import stories'), ('votes:read', 'export votes, under pseudonyms'), ('statistics:read', 'read the statistics'), ('releases:read', 'list releases, with unfinished ones'), ('releases:write', 'publish releases')], max_length=20), size=None)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('made_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(blank=True, help_text='To the hour.', null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('revoked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(blank=True, help_text='The only study it may access; empty: all that its owner may see.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='api_tokens', to='annotation.study')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='VoteExclusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=300)),
                ('suspended', models.BooleanField(db_default=False, default=False, help_text='The annotator was suspended with it, and is reinstated when it is lifted.')),
                ('excluded_at', models.DateTimeField()),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
                ('lifted_because', models.CharField(blank=True, max_length=300)),
                ('assignment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='vote_exclusions', to='annotation.assignment')),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='vote_exclusions', to='annotation.enrollment')),
                ('excluded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lifted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('expert_asked', 'an expert is asked for test answers'), ('key_ready', 'an answer key is ready'), ('study_complete', 'every story has all its votes'), ('study_stalled', 'no votes come in'), ('participant_flagged', 'a participant is flagged, warned or suspended'), ('payment_mismatch', 'a platform’s list differs from ours'), ('release_finished', 'a release is published or failed'), ('digest', 'daily digest'), ('test', 'a test')], max_length=30), size=None)),
                ('nonce', models.CharField(editable=False, max_length=32)),
                ('made_at', models.DateTimeField()),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='annotation.study')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('expert_asked', 'an expert is asked for test answers'), ('key_ready', 'an answer key is ready'), ('study_complete', 'every story has all its votes'), ('study_stalled', 'no votes come in'), ('participant_flagged', 'a participant is flagged, warned or suspended'), ('payment_mismatch', 'a platform’s list differs from ours'), ('release_finished', 'a release is published or failed'), ('digest', 'daily digest'), ('test', 'a test')], max_length=30)),
                ('day', models.DateField(null=True)),
                ('due_at', models.DateTimeField()),
                ('leased_until', models.DateTimeField(null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('given_up_at', models.DateTimeField(null=True)),
                ('failure', models.TextField(blank=True, help_text='Why the last try failed.')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to=settings.AUTH_USER_MODEL)),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='annotation.event')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='annotation.study')),
                ('webhook', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='annotation.webhook')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='WorkSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'not confirmed yet'), ('confirmed', 'confirmed by the platform'), ('doubted', 'not confirmed by the platform')], default='open', max_length=10)),
                ('story_limit', models.PositiveSmallIntegerField(help_text='The largest number of stories; 0: only the test.')),
                ('stories_submitted', models.PositiveSmallIntegerField(default=0, help_text='Answered, or skipped within the allowance. Maintained by annotation.actions.')),
                ('counts_unconfirmed', models.BooleanField(db_default=False, default=False, help_text='Votes count before the platform has confirmed the visit.')),
                ('identity_claimed', models.BooleanField(db_default=True, default=True, help_text='The identity comes from an address that anybody could have typed.')),
                ('framed', models.BooleanField(db_default=False, default=False, help_text='Its pages are shown in the platform’s frame.')),
                ('test_begun', models.BooleanField(db_default=False, default=False, help_text='A story of the test was answered in it.')),
                ('test_finished_at', models.DateTimeField(blank=True, help_text='When the test was finished that this session hands in.', null=True)),
                ('opened_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(help_text='No story is assigned after this.')),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('enrollment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='work_sessions', to='annotation.enrollment')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='session',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The session in which the story was assigned, then answered.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.worksession'),
        ),
        migrations.CreateModel(
            name='Skip',
            fields=[
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='skip', serialize=False, to='annotation.assignment')),
                ('reason', models.CharField(choices=[('unclear', 'It’s unclear'), ('broken', 'It’s broken: text is missing or garbled'), ('upsetting', 'It upsets me'), ('known', 'I know it already')], max_length=10)),
                ('words', models.CharField(blank=True, max_length=500)),
                ('credited', models.BooleanField(help_text='Within the study’s allowance, so it is paid like an answer.')),
                ('language', models.CharField(default='en', max_length=10)),
                ('skipped_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('reason__in', ['unclear', 'broken', 'upsetting', 'known'])), name='skip_has_a_reason')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='skip',
            trigger=pgtrigger.compiler.Trigger(name='skip_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='9c3af61081da7157a06ce863c5ccdd6698036a56', operation='DELETE', pgid='pgtrigger_skip_stays_2562a', table='annotation_skip', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='skip',
            trigger=pgtrigger.compiler.Trigger(name='skip_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."assignment_id" IS DISTINCT FROM (NEW."assignment_id") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."credited" IS DISTINCT FROM (NEW."credited") OR OLD."language" IS DISTINCT FROM (NEW."language") OR OLD."skipped_at" IS DISTINCT FROM (NEW."skipped_at"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='ce05d8bab73df7c571b86522bb87667f6b91c98f', operation='UPDATE', pgid='pgtrigger_skip_is_final_dd644', table='annotation_skip', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='skip',
            trigger=pgtrigger.compiler.Trigger(name='words_of_skip_are_only_erased', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."words" IS DISTINCT FROM (NEW."words") AND NOT (NEW."words" = \'\'))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='3915871987a3869207dccfa5fc0f38198b208d40', operation='UPDATE', pgid='pgtrigger_words_of_skip_are_only_erased_0539f', table='annotation_skip', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='checkoption',
            constraint=models.UniqueConstraint(fields=('key', 'question', 'row', 'option'), name='a_check_option_is_accepted_once'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkoption',
            trigger=pgtrigger.compiler.Trigger(name='check_option_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7153e547c51b580b826e63035266e4f013d458ac', operation='UPDATE OR DELETE', pgid='pgtrigger_check_option_is_final_b312a', table='annotation_checkoption', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkoption',
            trigger=pgtrigger.compiler.Trigger(name='graded_check_key_does_not_grow', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM annotation_checkresult r WHERE r.key_id = NEW.key_id) THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot add to a key by which somebody has been graded';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='5f65a0c7f13ac3b0eb1b523e099387a608232d84', operation='INSERT', pgid='pgtrigger_graded_check_key_does_not_grow_3b3e1', table='annotation_checkoption', when='BEFORE')),
        ),
        migrations.AddField(
            model_name='checkresult',
            name='key',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results', to='annotation.checkkey'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='comment',
            trigger=pgtrigger.compiler.Trigger(name='comment_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='dd88216264facb73f177e7464618697dcbfc1d8e', operation='DELETE', pgid='pgtrigger_comment_stays_0f9d1', table='annotation_comment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='comment',
            trigger=pgtrigger.compiler.Trigger(name='words_of_comment_are_only_erased', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."words" IS DISTINCT FROM (NEW."words") AND NOT (NEW."words" = \'\'))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='c13672ef7fb325e26215d14eb7baa967f64f2aa4', operation='UPDATE', pgid='pgtrigger_words_of_comment_are_only_erased_e41fc', table='annotation_comment', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.UniqueConstraint(fields=('vote', 'question', 'row'), name='one_answer_per_question_and_row'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('question', ''), _negated=True), models.Q(models.Q(models.Q(('option', ''), _negated=True), ('words', '')), models.Q(('option', ''), models.Q(('words', ''), _negated=True)), _connector='OR')), name='answer_says_something'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('words__regex', '[\\u0001-\\u001f\\u007f-\\u009f]'), _negated=True), name='words_have_no_control_characters'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('seconds', None), ('seconds__range', (0, 3600)), _connector='OR'), name='answer_took_up_to_an_hour'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='answer',
            trigger=pgtrigger.compiler.Trigger(name='answer_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='fdca45a5718e1b2e80649d8146a11964d7e608ef', operation='UPDATE OR DELETE', pgid='pgtrigger_answer_is_final_cc262', table='annotation_answer', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='vote',
            index=models.Index(fields=['submitted_at'], name='votes_by_time'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(fields=('assignment', 'revision'), name='one_vote_per_assignment_and_revision'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.CheckConstraint(condition=models.Q(('revision__gte', 1)), name='vote_revisions_count_from_one'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.CheckConstraint(condition=models.Q(('first_submitted_at__gte', models.F('served_at')), ('submitted_at__gte', models.F('first_submitted_at'))), name='vote_is_submitted_after_it_was_served'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('trusted_events', None), ('untrusted_events', None)), models.Q(('trusted_events__isnull', False), ('untrusted_events__isnull', False), ('trusted_events__range', (0, 10000)), ('untrusted_events__range', (0, 10000))), _connector='OR'), name='events_of_a_vote_are_both_known_or_neither'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='vote',
            trigger=pgtrigger.compiler.Trigger(name='vote_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='45708a19c60040f472702f2149b22c997b59634f', operation='UPDATE OR DELETE', pgid='pgtrigger_vote_is_final_79ff6', table='annotation_vote', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='intakeanswer',
            constraint=models.UniqueConstraint(fields=('enrollment', 'question'), name='one_intake_answer_per_person_and_question'),
        ),
        migrations.AddConstraint(
            model_name='intakeanswer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('question', 'age'), models.Q(('option', ''), ('option__regex', '^([0-9]{2}(-[0-9]{2}|[+]))$'), _connector='OR')), models.Q(('question', 'first_language'), models.Q(('option', ''), ('option__regex', '^([a-z]{2,3})$'), _connector='OR')), models.Q(('question', 'gender'), models.Q(('option', ''), ('option__regex', '^(woman|man|another)$'), _connector='OR')), models.Q(('question', 'education'), models.Q(('option', ''), ('option__regex', '^(school|vocational|bachelor|master|doctorate)$'), _connector='OR')), models.Q(('question', 'country'), models.Q(('option', ''), ('option__regex', '^([A-Z]{2})$'), _connector='OR')), models.Q(('question', 'ai_tools'), models.Q(('option', ''), ('option__regex', '^(none|some|most)$'), _connector='OR')), _connector='OR'), name='intake_answer_is_an_option'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='intakeanswer',
            trigger=pgtrigger.compiler.Trigger(name='intake_answer_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='8aee59bd3c6ab549dcace55e1076459badb347e7', operation='UPDATE', pgid='pgtrigger_intake_answer_is_final_05d1a', table='annotation_intakeanswer', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.UniqueConstraint(fields=('sample', 'position'), name='one_answer_per_place_in_a_sample'),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.UniqueConstraint(fields=('sample', 'vote'), name='one_place_per_answer_in_a_sample'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='reviewitem',
            trigger=pgtrigger.compiler.Trigger(name='review_item_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='5218b2a502ea69a57e944f3f79d789b5eab56712', operation='UPDATE OR DELETE', pgid='pgtrigger_review_item_is_final_c07da', table='annotation_reviewitem', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='spotcheck',
            constraint=models.CheckConstraint(condition=models.Q(('decision', 'accept'), models.Q(('reason', ''), _negated=True), _connector='OR'), name='votes_are_taken_out_for_a_reason'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='spotcheck',
            trigger=pgtrigger.compiler.Trigger(name='spot_check_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7f28a4c78ddea08ea62c8d809eb2f5fcee5d17f6', operation='UPDATE OR DELETE', pgid='pgtrigger_spot_check_is_final_11a09', table='annotation_spotcheck', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='storywords',
            index=django.contrib.postgres.indexes.GinIndex(fields=['words'], name='stories_by_words'),
        ),
        migrations.AddConstraint(
            model_name='checkkey',
            constraint=models.UniqueConstraint(fields=('story', 'version'), name='one_check_key_per_version'),
        ),
        migrations.AddConstraint(
            model_name='checkkey',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'replaced'), _negated=True), fields=('story',), name='one_check_key_stands_per_story'),
        ),
        migrations.AddConstraint(
            model_name='checkkey',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['in_use', 'left_out', 'replaced'])), name='check_key_has_a_known_state'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkkey',
            trigger=pgtrigger.compiler.Trigger(name='check_key_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='b81d69a4a05c2c3468d7d0727a85f6f8664e36ce', operation='DELETE', pgid='pgtrigger_check_key_stays_168be', table='annotation_checkkey', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkkey',
            trigger=pgtrigger.compiler.Trigger(name='check_key_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."story_id" IS DISTINCT FROM (NEW."story_id") OR OLD."version" IS DISTINCT FROM (NEW."version"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='22f217ee345d7b0b805f13208f2f22c8238843e1', operation='UPDATE', pgid='pgtrigger_check_key_is_final_d1749', table='annotation_checkkey', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkkey',
            trigger=pgtrigger.compiler.Trigger(name='answered_check_key_is_not_replaced', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NEW."state" = \'replaced\')', func="\n    IF EXISTS (SELECT FROM annotation_checkresult r WHERE r.key_id = NEW.id) THEN\n        RAISE EXCEPTION 'pgtrigger: somebody has been graded by this key';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='91c712430ea64f32d1fc0d71ef9951f6312ddb0c', operation='UPDATE OF "state"', pgid='pgtrigger_answered_check_key_is_not_replaced_3fa58', table='annotation_checkkey', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='adjudication',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='stories_are_adjudicated_for_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='adjudication',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('row', ''), ('verdict__in', ['valid', 'invalid'])), models.Q(models.Q(('question', ''), _negated=True), models.Q(('verdict', ''), _negated=True)), _connector='OR'), name='adjudication_is_of_a_story_or_a_label'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjudication',
            trigger=pgtrigger.compiler.Trigger(name='adjudication_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='bedec2072f08ebbda0ca38a902b785aa0e7a9040', operation='UPDATE OR DELETE', pgid='pgtrigger_adjudication_is_final_1f63d', table='annotation_adjudication', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='storyrevision',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='stories_are_revised_for_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='storyrevision',
            constraint=models.CheckConstraint(condition=models.Q(('before', models.F('after')), _negated=True), name='a_revision_makes_another_story'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='storyrevision',
            trigger=pgtrigger.compiler.Trigger(name='story_revision_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='a14edd4f1bc68b7b4fc545d29c52903552716627', operation='UPDATE OR DELETE', pgid='pgtrigger_story_revision_is_final_a6798', table='annotation_storyrevision', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('votes_per_story__gte', 1), ('votes_per_story__lte', 99)), name='study_asks_1_to_99_votes_per_story'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('intake_group__gte', 5), ('intake_questions__contained_by', ['age', 'first_language', 'gender', 'education', 'country', 'ai_tools'])), name='study_asks_known_questions_and_groups_people'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('most_votes', None), models.Q(('most_votes__gt', models.F('votes_per_story')), ('most_votes__lte', 99), ('stratum_field', ''), ('decided_by__in', ['all-agree', 'two-of-three', 'majority', 'experts-decide-splits'])), _connector='OR'), name='more_votes_are_wanted_at_most_than_at_least'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('story_cap__gte', 1)), name='study_cap_is_positive'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('story_language__regex', '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$')), name='story_language_is_a_tag'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('lease_minutes__gte', 1)), name='study_lease_is_positive'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('check_every', 0), ('check_every__gte', 5), _connector='OR'), name='checks_have_places_to_hide'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('check_minimum__gte', 1), models.Q(('check_warn_percent', None), ('check_warn_percent__range', (1, 100)), _connector='OR'), models.Q(('check_suspend_percent', None), ('check_suspend_percent__range', (1, 100)), _connector='OR')), name='check_thresholds_are_shares'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('check_warn_percent', None), ('check_suspend_percent', None), ('check_warn_percent__lt', models.F('check_suspend_percent')), _connector='OR'), name='checks_warn_before_they_suspend'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('opened_at', None), ('state', 'draft')), models.Q(models.Q(('state', 'draft'), _negated=True), ('opened_at__isnull', False)), _connector='OR'), name='study_is_opened_unless_draft'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('state', 'closed')), models.Q(models.Q(('state', 'closed'), _negated=True), ('closed_at', None)), _connector='OR'), name='study_closed_at_says_closed'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'open'), _negated=True), models.Q(('consent_version__gte', 1), models.Q(('gate', 'missing'), _negated=True)), _connector='OR'), name='open_study_has_consent_and_gate'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('qualified_through', None), models.Q(('gate', 'not_required'), models.Q(('qualified_through', models.F('pk')), _negated=True)), _connector='OR'), name='qualified_through_another_study_or_here'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='study',
            trigger=pgtrigger.compiler.Trigger(name='who_may_take_part_is_settled_in_the_draft', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."qualified_through_id" IS DISTINCT FROM (NEW."qualified_through_id") AND NOT (OLD."state" = \'draft\'))', func='RAISE EXCEPTION \'pgtrigger: Cannot update of "qualified_through_id" rows from % table\', TG_TABLE_NAME;', hash='bfb0d40219d0ec923630b751ee0cd3ab8f7882bf', operation='UPDATE OF "qualified_through_id"', pgid='pgtrigger_who_may_take_part_is_settled_in_the_draft_d793c', table='annotation_study', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='study',
            trigger=pgtrigger.compiler.Trigger(name='column_of_the_design_is_settled_in_the_draft', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."stratum_field" IS DISTINCT FROM (NEW."stratum_field") AND NOT (OLD."state" = \'draft\'))', func='RAISE EXCEPTION \'pgtrigger: Cannot update of "stratum_field" rows from % table\', TG_TABLE_NAME;', hash='d739f727375ea29db2a59f07d5b45c6b972d0045', operation='UPDATE OF "stratum_field"', pgid='pgtrigger_column_of_the_design_is_settled_in_the_draft_04b87', table='annotation_study', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='stratum',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='one_stratum_per_name_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='stratum',
            constraint=models.CheckConstraint(condition=models.Q(('load__gte', 1), ('load__lte', 999)), name='load_of_a_stratum_is_positive'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='stratum',
            trigger=pgtrigger.compiler.Trigger(name='design_is_settled_in_the_draft', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM annotation_study s\n               WHERE s.id IN (NEW.study_id, OLD.study_id) AND s.state <> 'draft') THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot change the design of a study that has been opened';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='c563aab9f95c111bd76089d9ff7b77d9369a0b4b', operation='INSERT OR UPDATE OR DELETE', pgid='pgtrigger_design_is_settled_in_the_draft_5a139', table='annotation_stratum', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='story',
            index=models.Index(condition=models.Q(('has_free_slot', True)), fields=['study', 'order_key'], name='story_with_free_slot'),
        ),
        migrations.AddIndex(
            model_name='story',
            index=models.Index(condition=models.Q(('role', 'main'), _negated=True), fields=['study', 'role'], name='stories_beside_the_main'),
        ),
        migrations.AddIndex(
            model_name='story',
            index=models.Index(condition=models.Q(('role', 'main')), fields=['study', 'is_old_version'], name='main_stories_of_study'),
        ),
        migrations.AddIndex(
            model_name='story',
            index=models.Index(fields=['text_hash', 'study'], name='stories_by_text'),
        ),
        migrations.AddConstraint(
            model_name='story',
            constraint=models.UniqueConstraint(fields=('study', 'story_id'), name='one_story_per_id_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='story',
            constraint=models.CheckConstraint(condition=models.Q(('role', 'main'), models.Q(('extra_votes', 0), ('has_free_slot', False)), _connector='OR'), name='only_main_stories_have_slots'),
        ),
        migrations.AddConstraint(
            model_name='story',
            constraint=models.CheckConstraint(condition=models.Q(('is_old_version', False), models.Q(('has_free_slot', False), ('role', 'main')), _connector='OR'), name='old_versions_are_main_stories_that_nobody_is_given'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='story',
            trigger=pgtrigger.compiler.Trigger(name='words_of_a_story_are_searched', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    INSERT INTO annotation_storywords (story_id, words) VALUES (NEW.id, to_tsvector('english', NEW.content));\n    RETURN NULL;\n", hash='26b5bd35546eb947b9a972ae56abef97e57cdfe1', operation='INSERT', pgid='pgtrigger_words_of_a_story_are_searched_4064f', table='annotation_story', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='story',
            trigger=pgtrigger.compiler.Trigger(name='story_content_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."study_id" IS DISTINCT FROM (NEW."study_id") OR OLD."role" IS DISTINCT FROM (NEW."role") OR OLD."story_id" IS DISTINCT FROM (NEW."story_id") OR OLD."core_id" IS DISTINCT FROM (NEW."core_id") OR OLD."scenario_name" IS DISTINCT FROM (NEW."scenario_name") OR OLD."story_prompt_example" IS DISTINCT FROM (NEW."story_prompt_example") OR OLD."severity_original" IS DISTINCT FROM (NEW."severity_original") OR OLD."story_generator_model" IS DISTINCT FROM (NEW."story_generator_model") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."harmfulness_predicted" IS DISTINCT FROM (NEW."harmfulness_predicted") OR OLD."unethicality_predicted" IS DISTINCT FROM (NEW."unethicality_predicted") OR OLD."content_hash" IS DISTINCT FROM (NEW."content_hash") OR OLD."text_hash" IS DISTINCT FROM (NEW."text_hash"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='a77a6ca4b2e62747fcb56cda2fd5a2f647388e0a', operation='UPDATE', pgid='pgtrigger_story_content_is_final_d649b', table='annotation_story', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='story',
            trigger=pgtrigger.compiler.Trigger(name='old_version_stays_old', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF OLD.is_old_version AND NOT NEW.is_old_version THEN\n        RAISE EXCEPTION 'pgtrigger: Cannot make an old version the newest one again';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='4c9874d4675ff6fa593c050dbb8eb364255eba15', operation='UPDATE OF "is_old_version"', pgid='pgtrigger_old_version_stays_old_78d59', table='annotation_story', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='reviewsample',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('among', 'person'), _negated=True), ('people', 1), _connector='OR'), name='samples_of_one_person_are_of_one'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='reviewsample',
            trigger=pgtrigger.compiler.Trigger(name='review_sample_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='e3b1fe4ad0a0e394bf4b3b8fd7c2efc33bcda0e5', operation='UPDATE OR DELETE', pgid='pgtrigger_review_sample_is_final_9199f', table='annotation_reviewsample', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('study', 'user'), name='one_role_per_person_and_study'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'researcher', 'reviewer', 'auditor'])), name='membership_has_a_known_role'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None)), fields=('study', 'address'), name='one_open_invitation_per_address_and_study'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'researcher', 'reviewer', 'auditor'])), name='invitation_has_a_known_role'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('address', ''), _negated=True), models.Q(('nonce', ''), _negated=True)), name='invitation_has_an_address_and_a_nonce'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('invited_at'))), name='invitation_expires_after_it_is_made'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('accepted_at', None), ('accepted_by', None)), models.Q(('accepted_at__isnull', False), ('accepted_by__isnull', False)), _connector='OR'), name='accepted_invitation_says_by_whom'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None), _connector='OR'), name='invitation_is_not_accepted_and_revoked'),
        ),
        migrations.AddConstraint(
            model_name='intakegroup',
            constraint=models.UniqueConstraint(fields=('study', 'question', 'option'), name='one_intake_group_per_option'),
        ),
        migrations.AddConstraint(
            model_name='intakegroup',
            constraint=models.CheckConstraint(condition=models.Q(('people__gte', 5)), name='intake_group_is_large'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='intakegroup',
            trigger=pgtrigger.compiler.Trigger(name='intake_group_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='ded0c8ebbd66dee669e2a9f02c67c5eaba652ae1', operation='UPDATE OR DELETE', pgid='pgtrigger_intake_group_is_final_23b3b', table='annotation_intakegroup', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='instructiontext',
            constraint=models.UniqueConstraint(fields=('study', 'version'), name='one_instruction_text_per_version'),
        ),
        migrations.AddConstraint(
            model_name='instructiontext',
            constraint=models.CheckConstraint(condition=models.Q(('page', ''), _negated=True), name='instruction_text_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='instructiontext',
            trigger=pgtrigger.compiler.Trigger(name='instruction_text_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='371c58eef31e9d41c328743709e3a173ea1f1e0c', operation='UPDATE OR DELETE', pgid='pgtrigger_instruction_text_is_final_ded01', table='annotation_instructiontext', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='exclusion',
            constraint=models.UniqueConstraint(fields=('study', 'annotator'), name='one_exclusion_per_annotator_and_study'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='exclusion',
            trigger=pgtrigger.compiler.Trigger(name='exclusion_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='14011eb09847ba0caf8f733f6ff64c5d713e2d23', operation='UPDATE OR DELETE', pgid='pgtrigger_exclusion_is_final_439d3', table='annotation_exclusion', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['study', 'at', 'id'], name='events_of_study'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['study', 'type', 'at', 'id'], name='events_of_type'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['enrollment', 'at', 'id'], name='events_of_enrollment'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('actor__isnull', False)), fields=['actor', 'study', 'at', 'id'], name='events_of_actor'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('member__isnull', False)), fields=['member', 'study', 'id'], name='events_of_member'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='event',
            trigger=pgtrigger.compiler.Trigger(name='event_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='04ccea436a1a94cdb574c2442d54dffb1490d7b7', operation='UPDATE OR DELETE', pgid='pgtrigger_event_is_final_ec286', table='annotation_event', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.UniqueConstraint(fields=('study', 'annotator'), name='one_enrollment_per_annotator_and_study'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.UniqueConstraint(fields=('study', 'pseudonym'), name='one_enrollment_per_pseudonym_and_study'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.CheckConstraint(condition=models.Q(('pseudonym__regex', '^annotator-[0-9a-f]{16}$')), name='pseudonym_is_annotator_and_16_hex_digits'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['invited', 'declined', 'withdrawn']), models.Q(('consent__isnull', False), ('consented_at__isnull', False)), _connector='OR'), name='nobody_goes_on_without_consent'),
        ),
        migrations.AddConstraint(
            model_name='enrollment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'suspended'), models.Q(('suspension_reason', ''), _negated=True)), models.Q(models.Q(('state', 'suspended'), _negated=True), ('suspension_reason', '')), _connector='OR'), name='suspended_people_are_told_why'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='enrollment',
            trigger=pgtrigger.compiler.Trigger(name='only_those_admitted_go_on', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NEW.state IN ('invited', 'declined', 'withdrawn') THEN\n        RETURN NEW;\n    END IF;\n    IF TG_OP = 'UPDATE' THEN\n        IF OLD.state NOT IN ('invited', 'declined') THEN\n            RETURN NEW;\n        END IF;\n    END IF;\n    IF EXISTS (SELECT FROM annotation_exclusion x\n               WHERE x.study_id = NEW.study_id AND x.annotator_id = NEW.annotator_id) THEN\n        RAISE EXCEPTION 'this annotator is excluded from the study';\n    END IF;\n    IF EXISTS (SELECT FROM annotation_study s\n               WHERE s.id = NEW.study_id AND s.qualified_through_id IS NOT NULL AND NOT EXISTS (\n                   SELECT FROM annotation_enrollment e\n                   WHERE e.study_id = s.qualified_through_id AND e.annotator_id = NEW.annotator_id\n                     AND e.state = 'qualified' AND e.environment = NEW.environment)) THEN\n        RAISE EXCEPTION 'this annotator is not qualified in the study that this one asks for';\n    END IF;\n    RETURN NEW;\n", hash='544101db7d4b82d8a49034d25d98731cfd2cb971', operation='INSERT OR UPDATE OF "state"', pgid='pgtrigger_only_those_admitted_go_on_5e286', table='annotation_enrollment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='enrollment',
            trigger=pgtrigger.compiler.Trigger(name='pseudonym_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."pseudonym" IS DISTINCT FROM (NEW."pseudonym"))', func='RAISE EXCEPTION \'pgtrigger: Cannot update of "pseudonym" rows from % table\', TG_TABLE_NAME;', hash='6b3ee75a0bebb3b581216c2f0556b6d45c0d4ffc', operation='UPDATE OF "pseudonym"', pgid='pgtrigger_pseudonym_is_final_248c1', table='annotation_enrollment', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'version'), name='one_consent_text_per_version'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='consent_text_says_something'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consenttext',
            trigger=pgtrigger.compiler.Trigger(name='consent_text_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='4de59be6a0ebbd7a1fe0a1b2ef897a7beea504d3', operation='UPDATE OR DELETE', pgid='pgtrigger_consent_text_is_final_79229', table='annotation_consenttext', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='api_token_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['studies:read', 'studies:write', 'stories:read', 'stories:write', 'votes:read', 'statistics:read', 'releases:read', 'releases:write']), ('scopes__len__gt', 0)), name='api_token_has_known_scopes'),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='api_token_is_hashed'),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('made_at'))), name='api_token_ends'),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=models.CheckConstraint(condition=models.Q(('revoked_by', None), ('revoked_at__isnull', False), _connector='OR'), name='api_token_is_revoked_at_a_time'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='apitoken',
            trigger=pgtrigger.compiler.Trigger(name='api_token_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='3b7b9f2f2b3808804e6add95a9b591807089d6ea', operation='DELETE', pgid='pgtrigger_api_token_stays_67d98', table='annotation_apitoken', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='apitoken',
            trigger=pgtrigger.compiler.Trigger(name='revoked_api_token_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."revoked_at" IS NOT NULL)', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='c99f246ef7fbcddcc8266cabf157e783648a91dc', operation='UPDATE', pgid='pgtrigger_revoked_api_token_is_final_35a53', table='annotation_apitoken', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='apitoken',
            trigger=pgtrigger.compiler.Trigger(name='api_token_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."owner_id" IS DISTINCT FROM (NEW."owner_id") OR OLD."study_id" IS DISTINCT FROM (NEW."study_id") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."scopes" IS DISTINCT FROM (NEW."scopes") OR OLD."digest" IS DISTINCT FROM (NEW."digest") OR OLD."made_at" IS DISTINCT FROM (NEW."made_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='bccb4bd541ef24f3c01da246ff5707f52c79a7bd', operation='UPDATE', pgid='pgtrigger_api_token_is_final_35424', table='annotation_apitoken', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='voteexclusion',
            constraint=models.UniqueConstraint(condition=models.Q(('assignment', None), ('lifted_at', None)), fields=('enrollment',), name='one_standing_exclusion_per_person'),
        ),
        migrations.AddConstraint(
            model_name='voteexclusion',
            constraint=models.UniqueConstraint(condition=models.Q(('lifted_at', None)), fields=('assignment',), name='one_standing_exclusion_per_vote'),
        ),
        migrations.AddConstraint(
            model_name='voteexclusion',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='votes_are_excluded_for_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='voteexclusion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lifted_at', None), ('lifted_because', ''), ('lifted_by', None)), models.Q(('lifted_at__gte', models.F('excluded_at')), models.Q(('lifted_because', ''), _negated=True)), _connector='OR'), name='exclusion_is_lifted_for_a_reason_or_stands'),
        ),
        migrations.AddConstraint(
            model_name='voteexclusion',
            constraint=models.CheckConstraint(condition=models.Q(('assignment', None), ('suspended', False), _connector='OR'), name='one_vote_suspends_nobody'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='voteexclusion',
            trigger=pgtrigger.compiler.Trigger(name='vote_exclusion_stays', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='70b8a907ee224dd80038b610ff1bb9cb89f5f9ac', operation='DELETE', pgid='pgtrigger_vote_exclusion_stays_0f10e', table='annotation_voteexclusion', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='voteexclusion',
            trigger=pgtrigger.compiler.Trigger(name='vote_exclusion_is_lifted_once', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."lifted_at" IS NOT NULL)', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='b4f446e6f88ddb8e3143d8ba23fd0f2ba1a888e5', operation='UPDATE', pgid='pgtrigger_vote_exclusion_is_lifted_once_2516a', table='annotation_voteexclusion', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='voteexclusion',
            trigger=pgtrigger.compiler.Trigger(name='vote_exclusion_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."enrollment_id" IS DISTINCT FROM (NEW."enrollment_id") OR OLD."assignment_id" IS DISTINCT FROM (NEW."assignment_id") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."suspended" IS DISTINCT FROM (NEW."suspended") OR OLD."excluded_by_id" IS DISTINCT FROM (NEW."excluded_by_id") OR OLD."excluded_at" IS DISTINCT FROM (NEW."excluded_at"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='46ba62266cd1d0d4299855621ec54a12059fcdde', operation='UPDATE', pgid='pgtrigger_vote_exclusion_is_final_ab65d', table='annotation_voteexclusion', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('nonce', ''), _negated=True), ('kinds__len__gt', 0)), name='webhook_has_kinds_and_a_nonce'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('given_up_at', None), ('sent_at', None)), fields=['due_at'], name='alerts_to_send'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('user', None), ('webhook__isnull', False)), models.Q(('user__isnull', False), ('webhook', None)), _connector='OR'), name='alert_has_one_recipient'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('day__isnull', False), ('event', None), ('kind', 'digest')), models.Q(models.Q(('kind', 'digest'), _negated=True), ('day', None), ('event__isnull', False)), _connector='OR'), name='alert_has_one_cause'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(('sent_at', None), ('given_up_at', None), _connector='OR'), name='alert_is_not_sent_and_given_up'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('event', 'user'), name='one_alert_per_event_and_user'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('event', 'webhook'), name='one_alert_per_event_and_webhook'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('study', 'user', 'day'), name='one_digest_a_day'),
        ),
        migrations.AddConstraint(
            model_name='worksession',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('settled_at', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('settled_at__isnull', False)), _connector='OR'), name='work_session_is_open_or_settled'),
        ),
        migrations.AddConstraint(
            model_name='worksession',
            constraint=models.CheckConstraint(condition=models.Q(('expires_at__gte', models.F('opened_at'))), name='work_session_expires_later'),
        ),
        migrations.AddConstraint(
            model_name='worksession',
            constraint=models.CheckConstraint(condition=models.Q(('story_limit', 0), models.Q(('test_begun', False), ('test_finished_at', None)), _connector='OR'), name='test_is_of_a_session_without_stories'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('state__in', ['leased', 'reserved'])), fields=['lease_expires_at'], name='leases_by_expiry'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('state', 'reserved')), fields=['enrollment', 'order_position'], name='reserved_in_order'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('session__isnull', False)), fields=['session'], name='assignments_of_session'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['enrollment'], name='answers_waiting'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['reserved', 'leased', 'submitted', 'pending'])), fields=('story', 'slot'), name='one_living_assignment_per_slot'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(fields=('enrollment', 'story'), name='one_assignment_per_person_and_story'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'leased')), fields=('enrollment',), name='one_lease_at_a_time_per_person'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('slot__gte', 1), ('slot__lte', models.F('slots'))), models.Q(('slot__isnull', True), ('slots', 0)), _connector='OR'), name='slot_is_one_of_the_storys_slots'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['reserved', 'leased', 'submitted', 'pending']), ('stratum__isnull', False)), fields=('enrollment', 'stratum', 'place'), name='one_living_assignment_per_place_in_a_stratum'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('load__isnull', False), ('stratum__isnull', False), ('place__gte', 1), ('place__isnull', False), ('place__lte', models.F('load')), ('given', False)), models.Q(('load', None), ('place', None), ('stratum', None), models.Q(('given', True), models.Q(('state', 'reserved'), _negated=True), _connector='OR')), _connector='OR'), name='place_is_one_of_the_load'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('given', False), models.Q(('state', 'expired'), _negated=True), _connector='OR'), name='nothing_given_by_name_expires'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='assignment',
            trigger=pgtrigger.compiler.Trigger(name='only_checks_are_given_out_without_slot', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NEW."slot" IS NULL)', func="\n    IF NOT EXISTS (SELECT FROM annotation_story s WHERE s.id = NEW.story_id AND s.role = 'check') THEN\n        RAISE EXCEPTION 'only a hidden check is given out without a slot';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='5ea54b1fb5f7518eeb6a0c8637b370713c47798a', operation='INSERT OR UPDATE OF "slot", "story_id"', pgid='pgtrigger_only_checks_are_given_out_without_slot_9dbf0', table='annotation_assignment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='assignment',
            trigger=pgtrigger.compiler.Trigger(name='load_is_that_of_the_stratum', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NEW."stratum_id" IS NOT NULL)', func="\n    IF NEW.load IS DISTINCT FROM (SELECT g.load FROM annotation_stratum g WHERE g.id = NEW.stratum_id) THEN\n        RAISE EXCEPTION 'the load of an assignment is that of its stratum';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='35099d6724f9ded86e70caacc242446bc481c9d3', operation='INSERT OR UPDATE OF "load", "stratum_id"', pgid='pgtrigger_load_is_that_of_the_stratum_71b79', table='annotation_assignment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkresult',
            trigger=pgtrigger.compiler.Trigger(name='check_result_is_final', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='b12978ec8d7d4e5a26e71526ffa3fc50e8d9ac84', operation='UPDATE OR DELETE', pgid='pgtrigger_check_result_is_final_782c6', table='annotation_checkresult', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='checkresult',
            trigger=pgtrigger.compiler.Trigger(name='check_is_graded_by_its_key', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF NOT EXISTS (\n        SELECT FROM annotation_checkkey k\n        JOIN annotation_assignment a ON a.story_id = k.story_id\n        JOIN annotation_vote v ON v.assignment_id = a.id\n        WHERE k.id = NEW.key_id AND v.id = NEW.vote_id) THEN\n        RAISE EXCEPTION 'a check is graded by the key of its own story';\n    END IF;\n    RETURN COALESCE(NEW, OLD);\n", hash='ccaa7a8573b291b486630bccd84f90eabf1341f2', operation='INSERT', pgid='pgtrigger_check_is_graded_by_its_key_e18c4', table='annotation_checkresult', when='AFTER')),
        ),
    ]
