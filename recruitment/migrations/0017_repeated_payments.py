"""A payment names the refused one that it repeats. What came before is told by amount, as it was told until now."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

# Settled payments are final, and this says of them only what was true already.
_NAME_THEM = """
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE recruitment_payment DISABLE TRIGGER USER;
    UPDATE recruitment_payment newer SET repeats_id = earlier.id
    FROM (SELECT id, state, lead(id) OVER (PARTITION BY submission_id, amount ORDER BY id) AS next
          FROM recruitment_payment WHERE kind IN ('bonus', 'outside')) earlier
    WHERE newer.id = earlier.next AND earlier.state = 'failed';
    ALTER TABLE recruitment_payment ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("recruitment", "0016_rejections_overturned"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="payment",
            name="payment_is_final",
        ),
        migrations.AddField(
            model_name="payment",
            name="repeats",
            field=models.OneToOneField(
                blank=True,
                help_text="What the platform refused, and this asks for anew or says to be paid in another way.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="repeated_by",
                to="recruitment.payment",
            ),
        ),
        migrations.RunSQL(_NAME_THEM, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="difference",
            name="kind",
            field=models.CharField(
                choices=[
                    ("no_data", "handed in there, nothing of it here"),
                    ("wrong_receipt", "handed in there without our receipt"),
                    ("not_handed_in", "done here, not handed in there"),
                    ("decided_there", "decided there, not by us"),
                    ("doubted_but_there", "given up here, then handed in there"),
                    ("partial", "handed in with fewer stories than asked for"),
                    ("paid_otherwise", "paid in another way, then handed in there"),
                    ("two_visits", "two visits say to be this person"),
                ],
                max_length=20,
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="payment",
            trigger=pgtrigger.compiler.Trigger(
                name="payment_is_final",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."submission_id" IS DISTINCT FROM (NEW."submission_id") OR OLD."in_place_of_id" IS DISTINCT FROM (NEW."in_place_of_id") OR OLD."repeats_id" IS DISTINCT FROM (NEW."repeats_id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."amount" IS DISTINCT FROM (NEW."amount") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."request_token" IS DISTINCT FROM (NEW."request_token"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="2ab0c3ac0d930120bf7da091fc151aa329b46df5",
                    operation="UPDATE",
                    pgid="pgtrigger_payment_is_final_1d59b",
                    table="recruitment_payment",
                    when="BEFORE",
                ),
            ),
        ),
    ]
