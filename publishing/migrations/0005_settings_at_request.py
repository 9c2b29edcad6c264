from django.db import migrations, models

FROM_THE_STUDY = """
ALTER TABLE publishing_release DISABLE TRIGGER USER;
UPDATE publishing_release AS release
SET title = study.title, description = study.description, license = study.license,
    story_cap = study.story_cap, pay_rate = study.pay_rate, currency = study.currency
FROM annotation_study AS study
WHERE study.id = release.study_id;
ALTER TABLE publishing_release ENABLE TRIGGER USER;
"""
"""Releases from before say what their study says now: nothing better is known."""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_set_up"),
        ("publishing", "0004_deposits"),
    ]

    operations = [
        migrations.AddField(
            model_name="release",
            name="title",
            field=models.CharField(default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="release",
            name="description",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="release",
            name="license",
            field=models.CharField(default="", max_length=60),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="release",
            name="story_cap",
            field=models.PositiveIntegerField(default=1),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="release",
            name="pay_rate",
            field=models.DecimalField(blank=True, decimal_places=2, max_digits=8, null=True),
        ),
        migrations.AddField(
            model_name="release",
            name="currency",
            field=models.CharField(default="", max_length=3),
            preserve_default=False,
        ),
        migrations.RunSQL(FROM_THE_STUDY, migrations.RunSQL.noop),
    ]
