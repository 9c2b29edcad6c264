"""Every write of this room. Views, tasks, commands, the back office and tests call these."""

from recruitment.actions.joining import arrive_by_link, join, remove_join_link, set_join_link
from recruitment.actions.mailing import (
    ask_for_links,
    confirm_address,
    give_address,
    invite_by_mail,
    mail_change,
    mail_confirmation,
    mail_invitation,
    mail_links,
    note_not_mailed,
    send_link,
)

__all__ = [
    "arrive_by_link",
    "ask_for_links",
    "confirm_address",
    "give_address",
    "invite_by_mail",
    "join",
    "mail_change",
    "mail_confirmation",
    "mail_invitation",
    "mail_links",
    "note_not_mailed",
    "remove_join_link",
    "send_link",
    "set_join_link",
]
