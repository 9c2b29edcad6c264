"""Every write of this room. Views, tasks, commands, the back office and tests call these."""

from annotation.actions.admission import admit_through, invite_qualified, keep_out
from annotation.actions.alerts import (
    add_webhook, choose_alerts, claim_alerts, forget_old_alerts, is_wanted, note_flags, note_progress,
    queue_digests, remove_webhook, send_test_alert, set_stall_hours, settle_alerts,
)
from annotation.actions.designs import design_of, set_design
from annotation.actions.enrollments import (
    answer_intake, choose_language, decline_consent, enroll, forget, give_consent, invite, reinstate,
    request_new_consent, reset_test, revoke_link, set_qualified, suspend, withdraw,
)
from annotation.actions.events import note_refused_address, record_about, record_event, record_events
from annotation.actions.exclusions import exclude_annotator, exclude_vote, readmit_annotator, readmit_vote
from annotation.actions.given_items import GivenRow, give_items, take_items_back
from annotation.actions.hidden_checks import (
    ProposedKey, change_check_rules, leave_out_check, reuse_check, set_check_key, set_check_keys,
)
from annotation.actions.import_jobs import (
    cancel_import, import_checked, import_stories, queue_import, resume_imports, run_import,
    sweep_import_files,
)
from annotation.actions.instructions import set_instructions
from annotation.actions.leases import give_back_story, release_expired_leases, release_lease, renew_lease
from annotation.actions.members import (
    accept_as_newcomer, accept_invitation, invite_member, make_api_token, note_use, record_mailed,
    remove_member, revoke_all_api_tokens, revoke_api_token, revoke_invitation, set_role,
)
from annotation.actions.reconciling import EditedRow, adopt_decisions, reconcile
from annotation.actions.reviews import (
    adjudicate, adjudicate_labels, adjudicate_stories, draw_sample, spot_check,
)
from annotation.actions.revisions import check_revisable, record_revision, revise_story
from annotation.actions.serving import (
    Receipt, assign_next_story, record_vote, record_vote_and_assign_next,
)
from annotation.actions.skips import skip_story
from annotation.actions.studies import (
    add_consent_text, blockers, change_study, close_study, create_study, freeze_answers, make_rehearsal,
    open_study, pause_study, set_gate, thaw_answers, usual_settings,
)
from annotation.actions.votes import change_refusal, change_vote, check_changeable
from annotation.actions.work_sessions import (
    carry_test, confirm_identity, confirm_session, doubt_session, forget_tests, note_test, open_session,
)
