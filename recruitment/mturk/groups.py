"""Our groups of people: custom qualifications, which we give and workers cannot ask for."""

from django.utils.translation import gettext as _

from recruitment.marketplace import Group, Refused, Unreachable
from recruitment.mturk import client
from recruitment.mturk.client import Api

DESCRIPTIONS = {
    Group.QUALIFIED: "Given to those who passed the qualification test of {reference}.",
    Group.INCOMPLETE: "Given to those who accepted a HIT of {reference} and did not submit it.",
}
"""Workers read them in the list of their qualifications."""


def name_of(group: Group, reference: str) -> str:
    """Return the name of a group's qualification type, unique in the account."""
    return f"tomannot {reference} {group}"


class Groups:
    """The part of the adapter about groups of people."""

    _api: Api

    def ensure_group(self, group: Group, *, reference: str) -> str:
        """Return the id of a group's qualification type; make it if there is none."""
        name = name_of(group, reference)
        try:
            made = self._api.call(
                "CreateQualificationType",
                Name=name,
                Description=DESCRIPTIONS[group].format(reference=reference),
                QualificationTypeStatus="Active",
            )
        except Refused as error:
            if error.code != client.NAME_TAKEN:
                raise
            return self._named(name)
        return str(made["QualificationType"]["QualificationTypeId"])

    def _named(self, name: str) -> str:
        rows = self._api.everything(
            "ListQualificationTypes", "QualificationTypes", MustBeRequestable=False, MustBeOwnedByCaller=True
        )
        found = [str(row["QualificationTypeId"]) for row in rows if row["Name"] == name]
        if not found:
            raise Unreachable(_("The qualification exists, but Mechanical Turk does not show it yet."))
        return found[0]

    def add_to_group(self, group: str, person: str) -> None:
        """Give somebody the qualification, without a mail to them. Given twice, it is given once."""
        self._api.call(
            "AssociateQualificationWithWorker",
            QualificationTypeId=group,
            WorkerId=person,
            IntegerValue=1,
            SendNotification=False,
        )

    def remove_from_group(self, group: str, person: str) -> None:
        """Take the qualification back, if they have it. No reason is given: it would be mailed to them."""
        try:
            self._api.call("DisassociateQualificationFromWorker", QualificationTypeId=group, WorkerId=person)
        except Refused as error:
            if error.code not in (client.NO_QUALIFICATION, client.WRONG_QUALIFICATION_STATE):
                raise
