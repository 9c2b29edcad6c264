from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recruitment", "0011_decided_by_hand"),
    ]

    operations = [
        migrations.AlterField(
            model_name="visit",
            name="is_partial",
            field=models.BooleanField(
                default=False, help_text="Was sent to hand in fewer stories than asked for."
            ),
        ),
    ]
