"""Invariants 4, 5, 8 and 9 for people: access, identities, and live data apart from test runs."""

from collections.abc import Iterator

from annotation.rules import pseudonym
from integrity.base import Check, by_sql, by_walking, stream, where


def _false_pseudonyms(study_id: int | None) -> Iterator[str]:
    """Yield enrollments whose pseudonym does not follow from the study's key."""
    query = """
        SELECT e.id, e.annotator_id, e.pseudonym, s.pseudonym_key
        FROM annotation_enrollment e JOIN annotation_study s ON s.id = e.study_id
        WHERE %(study)s::bigint IS NULL OR s.id = %(study)s ORDER BY e.id"""
    for number, annotator, stored, key in stream(query, study_id):
        if stored != pseudonym(key, annotator):
            yield f"enrollment {number}"


CHECKS = (
    Check(
        "vote_comes_with_consent",
        4,
        "Votes by annotators who have not agreed to a consent text of the study.",
        by_sql("""
            SELECT v.study_id, v.id AS row
            FROM votes v
            JOIN annotation_enrollment e ON e.id = v.enrollment_id
            LEFT JOIN annotation_consenttext c ON c.id = e.consent_id
            WHERE c.id IS NULL OR c.study_id <> e.study_id
               OR NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = e.id AND ev.type = 'consent_given')
        """),
    ),
    Check(
        "vote_comes_from_somebody_who_qualified",
        4,
        "Votes by annotators who never qualified, according to the log.",
        where(
            "votes",
            "NOT EXISTS (SELECT FROM annotation_event ev "
            "WHERE ev.enrollment_id = votes.enrollment_id AND ev.type = 'enrollment_qualified')",
        ),
    ),
    Check(
        "only_the_admitted_take_part",
        4,
        "Annotators who joined a study that excludes them, or that requires a qualification they lack.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN annotation_exclusion x ON x.study_id = e.study_id AND x.annotator_id = e.annotator_id
            WHERE e.consent_id IS NOT NULL
            UNION ALL
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN annotation_study s ON s.id = e.study_id
            WHERE s.qualified_through_id IS NOT NULL AND e.consent_id IS NOT NULL
              AND NOT EXISTS (SELECT FROM annotation_enrollment there
                              JOIN annotation_event ev ON ev.enrollment_id = there.id
                              WHERE there.study_id = s.qualified_through_id
                                AND there.annotator_id = e.annotator_id AND ev.type = 'enrollment_qualified')
        """),
    ),
    Check(
        "nobody_is_served_past_the_cap",
        4,
        "Assignments given to an annotator who had reached the study's cap.",
        where("assignments", "order_position > story_cap"),
    ),
    Check(
        "erased_people_leave_no_identity",
        8,
        "Erased annotators whose identity on a platform is still stored.",
        where(
            "accounts_annotator an JOIN accounts_platformidentity p ON p.annotator_id = an.id",
            "an.erased_at IS NOT NULL",
            study="NULL::bigint",
            row="an.id",
        ),
    ),
    Check(
        "pseudonym_follows_from_the_key",
        8,
        "Enrollments whose pseudonym does not follow from the study's key.",
        by_walking(_false_pseudonyms),
    ),
    Check(
        "forgotten_people_have_no_link",
        8,
        "Enrollments of erased annotators whose personal links still work.",
        where(
            "annotation_enrollment e JOIN accounts_annotator an ON an.id = e.annotator_id",
            "an.erased_at IS NOT NULL AND e.link_version = 1",
            row="e.id",
        ),
    ),
    Check(
        "platform_ids_stay_in_their_table",
        8,
        "Events that contain an annotator's platform id.",
        by_sql("""
            SELECT ev.study_id, ev.id AS row
            FROM annotation_event ev
            JOIN annotation_enrollment e ON e.id = ev.enrollment_id
            JOIN LATERAL (
                -- An id from a join link is stored after the name of its source.
                SELECT CASE platform WHEN 'link' THEN substr(person, strpos(person, '/') + 1) ELSE person END
                    AS id
                FROM accounts_platformidentity i WHERE i.annotator_id = e.annotator_id
            ) p ON true
            WHERE length(p.id) >= 6 AND strpos(ev.subject || ' ' || ev.note, p.id) > 0
        """),
    ),
    Check(
        "one_person_per_confirmed_identity",
        5,
        "Platform ids and confirmed e-mail addresses that belong to several annotators.",
        by_sql("""
            SELECT NULL::bigint AS study_id, min(p.id) AS row
            FROM accounts_platformidentity p
            WHERE p.platform <> 'email' OR p.confirmed_at IS NOT NULL
            GROUP BY p.platform, p.environment, p.person HAVING count(DISTINCT p.annotator_id) > 1
        """),
    ),
    Check(
        "suspended_person_is_told_why",
        4,
        "Enrollments suspended without a reason, or with a reason but not suspended.",
        where("annotation_enrollment", "(state = 'suspended') = (suspension_reason = '')"),
    ),
    Check(
        "visit_is_of_the_persons_environment",
        9,
        "Visits whose environment differs from the enrollment's.",
        where(
            "recruitment_visit v JOIN annotation_enrollment e ON e.id = v.enrollment_id",
            "v.environment <> e.environment",
            row="v.id",
        ),
    ),
    Check(
        "served_only_in_the_studys_environment",
        9,
        "Assignments whose enrollment is of another environment than the study.",
        where("assignments", "enrolled_environment <> study_environment"),
    ),
    Check(
        "counted_vote_is_of_the_studys_environment",
        9,
        "Votes that hold a slot but belong to another environment than the study.",
        where("votes", "state = 'submitted' AND environment <> study_environment"),
    ),
)
