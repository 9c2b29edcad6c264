from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_votes_by_time"), ("recruitment", "0008_payment_orders")]

    operations = [
        migrations.AddField(
            model_name="joinlink",
            name="adds_parameter",
            field=models.BooleanField(
                default=False, help_text="The platform adds name and id to the address by itself."
            ),
        ),
        migrations.AddField(
            model_name="joinlink",
            name="closes_at",
            field=models.DateTimeField(
                blank=True, help_text="From when on nobody new comes in by it.", null=True
            ),
        ),
        migrations.AddField(
            model_name="joinlink",
            name="leave_url",
            field=models.CharField(
                blank=True,
                help_text="The same for who has done nothing, and so has no code.",
                max_length=500,
            ),
        ),
        migrations.AddField(
            model_name="joinlink",
            name="most_people",
            field=models.PositiveIntegerField(
                blank=True, help_text="How many people may come in by it; empty: any number.", null=True
            ),
        ),
        migrations.AddField(
            model_name="joinlink",
            name="placeholder",
            field=models.CharField(
                blank=True, help_text="What the platform replaces by the participant’s id.", max_length=60
            ),
        ),
        migrations.AddField(
            model_name="joinlink",
            name="screen_out_url",
            field=models.CharField(
                blank=True, help_text="The same for who has only done the test.", max_length=500
            ),
        ),
        migrations.AlterField(
            model_name="joinlink",
            name="parameter",
            field=models.CharField(
                default="participant",
                help_text="The name under which the platform gives the participant's id.",
                max_length=40,
            ),
        ),
        migrations.AddConstraint(
            model_name="joinlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("screen_out_url", ""), ("screen_out_url__startswith", "https://"), _connector="OR"
                    ),
                    models.Q(("leave_url", ""), ("leave_url__startswith", "https://"), _connector="OR"),
                ),
                name="join_link_leads_out_by_https",
            ),
        ),
        migrations.AddConstraint(
            model_name="joinlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("leave_url__contains", "{code}"), _negated=True),
                name="no_code_for_who_did_nothing",
            ),
        ),
    ]
