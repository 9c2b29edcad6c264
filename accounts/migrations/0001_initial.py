import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Annotator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField()),
                ('erased_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ForgottenIdentity',
            fields=[
                ('digest', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('day', models.DateField()),
            ],
            options={
                'verbose_name_plural': 'forgotten identities',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='PlatformIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('link', 'personal link'), ('email', 'e-mail'), ('prolific', 'Prolific'), ('mturk', 'Mechanical Turk')], max_length=20)),
                ('environment', models.CharField(choices=[('live', 'live'), ('rehearsal', 'test run')], max_length=20)),
                ('person', models.CharField(help_text="The person's id on the platform.", max_length=200)),
                ('language', models.CharField(blank=True, help_text='The language of mails.', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(blank=True, help_text='When the person confirmed the e-mail address.', null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='identities', to='accounts.annotator')),
            ],
            options={
                'verbose_name_plural': 'platform identities',
                'constraints': [models.UniqueConstraint(condition=models.Q(models.Q(('platform', 'email'), _negated=True), ('confirmed_at__isnull', False), _connector='OR'), fields=('platform', 'environment', 'person'), name='one_annotator_per_platform_person'), models.UniqueConstraint(condition=models.Q(('confirmed_at__isnull', False), ('platform', 'email')), fields=('annotator', 'environment'), name='one_address_per_annotator'), models.UniqueConstraint(condition=models.Q(('confirmed_at__isnull', True), ('platform', 'email')), fields=('annotator', 'environment'), name='one_claimed_address_per_annotator'), models.CheckConstraint(condition=models.Q(('platform', 'email'), ('confirmed_at', None), _connector='OR'), name='only_addresses_are_confirmed'), models.CheckConstraint(condition=models.Q(('person', ''), _negated=True), name='platform_person_is_named')],
            },
        ),
    ]
