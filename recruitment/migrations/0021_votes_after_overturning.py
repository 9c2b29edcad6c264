"""Votes of an overturned rejection count when the platform has carried it out, and not before."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recruitment", "0020_paid_by_link"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="payment",
            name="payment_is_final",
        ),
        migrations.AddField(
            model_name="payment",
            name="votes_count",
            field=models.BooleanField(db_default=False, default=False),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="payment",
            trigger=pgtrigger.compiler.Trigger(
                name="payment_is_final",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."submission_id" IS DISTINCT FROM (NEW."submission_id") OR OLD."in_place_of_id" IS DISTINCT FROM (NEW."in_place_of_id") OR OLD."repeats_id" IS DISTINCT FROM (NEW."repeats_id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."amount" IS DISTINCT FROM (NEW."amount") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."votes_count" IS DISTINCT FROM (NEW."votes_count") OR OLD."request_token" IS DISTINCT FROM (NEW."request_token"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="8c73c3017047bd63f6ed40dff740029a104e21b0",
                    operation="UPDATE",
                    pgid="pgtrigger_payment_is_final_1d59b",
                    table="recruitment_payment",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("votes_count", False), ("kind", "overturn"), _connector="OR"),
                name="only_overturning_lets_votes_count",
            ),
        ),
    ]
