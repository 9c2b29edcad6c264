"""Every write of this room. Views, tasks, commands, the back office and tests call these."""

from annotation.actions.admission import admit_through, exclude, invite_qualified
from annotation.actions.api_tokens import make_api_token, note_use, revoke_api_token
from annotation.actions.checks import change_check_rules, leave_out_check, set_check_key, take_in_check
from annotation.actions.enrollments import (
    decline_consent,
    enroll,
    forget,
    give_consent,
    invite,
    reinstate,
    revoke_link,
    set_qualified,
    suspend,
    withdraw,
)
from annotation.actions.events import record_event
from annotation.actions.exclusions import (
    Readmission,
    exclude_annotator,
    exclude_vote,
    readmit_annotator,
    readmit_vote,
)
from annotation.actions.import_jobs import (
    cancel_import,
    import_checked,
    import_stories,
    queue_import,
    resume_imports,
    run_import,
    sweep_import_files,
)
from annotation.actions.invitations import (
    accept_as_newcomer,
    accept_invitation,
    invite_member,
    record_mailed,
)
from annotation.actions.leases import release_lease
from annotation.actions.members import remove_member, revoke_invitation, set_role
from annotation.actions.mending import change_vote, changing, check_changeable
from annotation.actions.reviewing import adjudicate, draw_sample, spot_check
from annotation.actions.serving import (
    Receipt,
    assign_next_story,
    record_vote,
    record_vote_and_assign_next,
    release_expired_leases,
    standing,
)
from annotation.actions.sessions import confirm_session, doubt_session, know_person, open_session
from annotation.actions.settings import change_study
from annotation.actions.studies import (
    StudySettings,
    add_consent_text,
    blockers,
    close_study,
    create_study,
    freeze_answers,
    make_rehearsal,
    open_study,
    pause_study,
    set_gate,
    thaw_answers,
)

__all__ = [
    "Readmission",
    "Receipt",
    "StudySettings",
    "accept_as_newcomer",
    "accept_invitation",
    "add_consent_text",
    "adjudicate",
    "admit_through",
    "assign_next_story",
    "blockers",
    "cancel_import",
    "change_check_rules",
    "change_study",
    "change_vote",
    "changing",
    "check_changeable",
    "close_study",
    "confirm_session",
    "create_study",
    "decline_consent",
    "doubt_session",
    "draw_sample",
    "enroll",
    "exclude",
    "exclude_annotator",
    "exclude_vote",
    "forget",
    "freeze_answers",
    "give_consent",
    "import_checked",
    "import_stories",
    "invite",
    "invite_member",
    "invite_qualified",
    "know_person",
    "leave_out_check",
    "make_api_token",
    "make_rehearsal",
    "note_use",
    "open_session",
    "open_study",
    "pause_study",
    "queue_import",
    "readmit_annotator",
    "readmit_vote",
    "record_event",
    "record_mailed",
    "record_vote",
    "record_vote_and_assign_next",
    "reinstate",
    "release_expired_leases",
    "release_lease",
    "remove_member",
    "resume_imports",
    "revoke_api_token",
    "revoke_invitation",
    "revoke_link",
    "run_import",
    "set_check_key",
    "set_gate",
    "set_qualified",
    "set_role",
    "spot_check",
    "standing",
    "suspend",
    "sweep_import_files",
    "take_in_check",
    "thaw_answers",
    "withdraw",
]
