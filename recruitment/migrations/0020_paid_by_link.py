"""What people whom no platform pays through us have been paid outside, as researchers note it."""

import uuid

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0023_samples_among"),
        ("recruitment", "0019_offer_there"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LinkPayment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=2, max_digits=8)),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.TextField(help_text="How the person was paid; for the log.")),
                (
                    "request_token",
                    models.UUIDField(
                        default=uuid.uuid4,
                        editable=False,
                        help_text="Of the form or file by which it was noted, once.",
                    ),
                ),
                ("noted_at", models.DateTimeField()),
                (
                    "enrollment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="link_payments",
                        to="annotation.enrollment",
                    ),
                ),
                (
                    "noted_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("request_token", "enrollment"), name="one_link_payment_per_request_and_person"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("amount", 0), _negated=True), models.Q(("reason", ""), _negated=True)
                        ),
                        name="link_payment_has_an_amount_and_a_reason",
                    ),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="linkpayment",
            trigger=pgtrigger.compiler.Trigger(
                name="link_payment_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                    hash="abac8bcc0ac2c64ffcd5e71107c5a4f0f91995b2",
                    operation="DELETE",
                    pgid="pgtrigger_link_payment_stays_e3cb9",
                    table="recruitment_linkpayment",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="linkpayment",
            trigger=pgtrigger.compiler.Trigger(
                name="link_payment_is_final",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="e1a61f5f280d3c9f77d9956b2f2cd5ab4fe5bf17",
                    operation="UPDATE",
                    pgid="pgtrigger_link_payment_is_final_ebad4",
                    table="recruitment_linkpayment",
                    when="BEFORE",
                ),
            ),
        ),
    ]
