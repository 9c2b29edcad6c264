"""The ways to break what is promised about links, addresses and visits."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql, without


def revoked_unseen(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment SET link_version = link_version + 1 WHERE id = %(id)s",
        id=world.holder.pk,
    )


def pseudonym_replaced(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment SET pseudonym = 'annotator-0123456789abcdef' WHERE id = %(id)s",
        id=world.holder.pk,
    )


def forgotten_but_let_in(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment e SET link_version = 1 FROM accounts_annotator an "
        "WHERE an.id = e.annotator_id AND an.erased_at IS NOT NULL"
    )
    sql("DELETE FROM annotation_event WHERE type = 'link_revoked' AND note = 'forgotten'")


def id_of_two_people(world: World) -> None:
    without("accounts_platformidentity", "one_annotator_per_platform_person")
    sql(
        "INSERT INTO accounts_platformidentity (annotator_id, platform, environment, person, language, "
        "created_at) SELECT %(other)s, platform, environment, person, '', now() "
        "FROM accounts_platformidentity WHERE platform = 'link'",
        other=world.leaver.annotator_id,
    )


def suspended_for_nothing(world: World) -> None:
    without("annotation_enrollment", "suspended_people_are_told_why")
    sql("UPDATE annotation_enrollment SET suspension_reason = '' WHERE id = %(id)s", id=world.suspended.pk)


def visit_of_a_rehearsal(world: World) -> None:
    sql("UPDATE recruitment_visit SET environment = 'rehearsal'")


def participant_in_the_log(world: World) -> None:
    sql(
        "UPDATE annotation_event SET note = 'came as participant-4711' WHERE enrollment_id = "
        "(SELECT e.id FROM annotation_enrollment e JOIN accounts_platformidentity p "
        "ON p.annotator_id = e.annotator_id WHERE p.platform = 'link')"
    )


def address_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'address_confirmed'")


def visit_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'visit_arrived'")


def join_link_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'join_link_set'")


LINK_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (revoked_unseen, "revoked_link_is_in_the_log", set()),
    (pseudonym_replaced, "pseudonym_follows_from_the_key", set()),
    (forgotten_but_let_in, "forgotten_people_have_no_link", set()),
    (id_of_two_people, "one_person_per_confirmed_identity", set()),
    (suspended_for_nothing, "suspended_person_is_told_why", set()),
    (visit_of_a_rehearsal, "visit_is_of_the_persons_environment", set()),
    (participant_in_the_log, "platform_ids_stay_in_their_table", set()),
    (address_not_logged, "confirmed_address_is_in_the_log", set()),
    (visit_not_logged, "visit_is_in_the_log", set()),
    (join_link_not_logged, "join_link_is_in_the_log", set()),
]
