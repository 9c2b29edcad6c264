/* The slot protocol: three people, two stories, two slots each. Checked by tests/model/test_slots.py with SPIN.
 *
 * The invariants are those of the database and of `manage.py check_integrity`; see check() below. Each step is
 * a transaction of annotation/actions and is named after its function.
 *
 * Why a transaction may be one step. Everything about one person begins with lock_person, then locks the
 * assignment or the stories (docs/adr/0003), and counts slots in a statement after that. While these locks are
 * held, nobody else writes what the transaction has read, so it might as well have run at one moment. The
 * sweep over expired leases is the only writer without the person's lock: it locks the assignment and its
 * story. Two kinds of transaction are two steps here, because they read before they lock:
 *   - a claim searches by `has_free_slot` before it locks the story it found (lock_next_story);
 *   - those that lose a lock in a mutation: they read in the first step and write in the second.
 * record_vote_and_assign_next is record_vote, then assign_next_story: between the two halves nobody else can
 * see or write the rows of the vote, and whoever reads its slot finds it taken before and after.
 *
 * Reductions. Sound: a lease may run out at any moment (no clock); the search returns any story that it could
 * return (no serving order); the number of a slot that is no longer held is forgotten; withdrawing is a
 * suspension and the end of a lease; each assignment has a visit of its own (a platform settles one of two
 * stories in two steps), and a vote that counts at once, or came by a personal link, is called pending here
 * until its visit is settled, because it holds its slot like one; a change stores a revision and nothing else.
 * Symmetric: people are alike, and so are stories and slots; after each step they are put in order.
 * Bounded: decisions of researchers and platforms (exclude, readmit, suspend, reinstate, confirm, doubt) are
 * either DECISIONS about anybody, or as many as you like about one person. What participants and time do is
 * not bounded. Outside: hidden checks (they have no slot), imported votes, another number of votes per story,
 * publishing, revisions (an old version is never offered again), and deadlocks (PostgreSQL ends one
 * transaction, which then has stored nothing).
 * Adaptive: a story wants one vote, and a second one if the first leaves it undecided (docs/adr/0049). What
 * votes say is not modelled: whenever the votes change, the story may be undecided or not.
 *
 * By hand: spin -a -DABOUT_ONE=1 slots.pml && cc -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -E -m1000000
 * spin -DWITHOUT=11 removes a guard; ./pan -r then shows the steps of the violation that was found.
 */

#ifdef BOUNDS_FROM_C /* one compilation for all bounds */
#define DECISIONS c_expr { DECISIONS_GIVEN }
#define ABOUT_ONE c_expr { ABOUT_ONE_GIVEN }
#define STUDIES c_expr { STUDIES_GIVEN }
#define CUT c_expr { CUT_GIVEN }
#define WITHOUT c_expr { WITHOUT_GIVEN }
#endif
#ifndef DECISIONS
#define DECISIONS 1 /* about anybody */
#endif
#ifndef ABOUT_ONE
#define ABOUT_ONE 0 /* 1: any number of decisions, all about one person */
#endif
#ifndef STUDIES
#define STUDIES 3 /* a sum: 1 plain, 2 with a design, 4 stories given by name, 8 an adaptive number of votes */
#endif
#define PEOPLE 3
#define STORIES 2
#define SLOTS 2
#define ALLOWANCE 1 /* paid skips: Study.skip_allowance */

/* Assignment.State; 0 is a story that the person was never assigned. */
mtype:state = { RESERVED, LEASED, SUBMITTED, SURPLUS, EXPIRED, EXCLUDED, DISPLACED, PENDING, DOUBTED, SKIPPED };
#define NO_ROW 0

/* The constraints that check() and give_out() assert: the database raises, and the person sees an error.
 * constraint one_living_assignment_per_slot
 * constraint one_assignment_per_person_and_story
 * constraint one_lease_at_a_time_per_person
 * constraint slot_is_one_of_the_storys_slots
 * constraint nothing_given_by_name_expires
 * Of a design; they see the rows of one person, behind lock_person, and are left out:
 * constraint one_living_assignment_per_place_in_a_stratum
 * constraint place_is_one_of_the_load
 * constraint one_vote_per_assignment_and_revision
 */

/* Actions that write has_free_slot, each in a step below.
 * writes serving._give_out       (its mending, which no step reaches: see give_out)
 * writes serving._take_slot_again
 * writes serving._settle_slot
 * writes slots.free_slots
 * writes designs.reserve
 * writes skips.skip_story
 * writes exclusions.stop_counting
 * writes exclusions.restore_votes
 * writes slots.settle_slots
 */

/* Guards: the test removes one at a time, and the checker must find what breaks. */
#define CLAIM_LOCKS_PERSON 1         /* lock_person in serving._assign */
#define CLAIM_HOLDS_ONE 2            /* lock_held in serving._assign */
#define CLAIM_ASKS_MAY_BE_SERVED 3   /* serving_refusal in serving._refusal */
#define CLAIM_LEAVES_OUT_OWN 4       /* NOT EXISTS in sql._NEXT_STORY */
#define CLAIM_COUNTS_AFTER_LOCK 5    /* taken_slots in serving._give_out */
#define CLAIM_MARKS_FULL 6           /* full_now in sql._GIVE_SLOT */
#define SWEEP_FREES_STORY 7          /* mark_free in slots.free_slots */
#define VOTE_LOCKS_PERSON 8          /* lock_person in serving.record_vote */
#define VOTE_LOCKS_ASSIGNMENT 9      /* lock_assignment in serving.lock_assignment_of */
#define FIRST_VOTE_WINS 10           /* _first_receipt in serving._record */
#define VOTE_ASKS_QUALIFIED 11       /* NOT_QUALIFIED in serving._settle_slot */
#define UNQUALIFIED_VOTE_FREES 12    /* mark_free in serving._settle_slot */
#define VOTE_ASKS_DOUBTED 13         /* DOUBTED in serving._settle_slot */
#define LATE_VOTE_TAKES_SLOT 14      /* _take_slot_again in serving._settle_slot */
#define LATE_VOTE_LOCKS_STORY 15     /* lock_story_of in serving._take_slot_again */
#define LATE_VOTE_IS_SURPLUS 16      /* lowest_free_slot in serving._take_slot_again */
#define LATE_VOTE_IS_STORED 17       /* store_vote in serving._record */
#define LATE_VOTE_MARKS_FULL 18      /* mark_full in serving._take_slot_again */
#define SKIP_FREES_STORY 19          /* mark_free in skips.skip_story */
#define SKIP_IS_NOT_PAID_TWICE 20    /* skip.credited in votes._complete */
#define VOTE_STAYS_OVER_SKIP 21      /* UNANSWERED in skips.skip_story */
#define EXCLUSION_ENDS_LEASE 22      /* release_assignments in exclusions.exclude_annotator */
#define EXCLUSION_FREES_STORY 23     /* mark_free in exclusions.stop_counting */
#define READMISSION_LOCKS_STORIES 24 /* lock_stories in exclusions.restore_votes */
#define READMISSION_COUNTS_SLOTS 25  /* lowest_free_slot in exclusions._restore */
#define READMISSION_MARKS_FULL 26    /* mark_full in exclusions.restore_votes */
#define READMISSION_ASKS_DOUBTED 27  /* state_of_answer in exclusions._restore */
#define READMISSION_KEEPS_ALONE 28   /* excluded_alone in exclusions.readmit */
#define CONFIRMING_ASKS_EXCLUDED 29  /* exclusion_in_force in work_sessions.confirm_session */
#define DOUBT_STOPS_COUNTING 30      /* stop_counting in work_sessions.doubt_session */
#define CHANGE_KEEPS_REASON 31       /* newest.surplus_reason in votes.change_vote */
#define CHANGE_LEAVES_ASSIGNMENT 32  /* instead_of in votes.store_vote */
#define RESERVING_COUNTS_AFTER_LOCK 33 /* lock_in_order(Story in designs.reserve_set */
#define RESERVING_MARKS_FULL 34      /* mark_full in designs.reserve */
#define HOLDERS_KEEP_SLOTS 35        /* holders[story]) in slots.wanted_and_free */
#define VOTE_SETTLES 36              /* settle_slots in serving._record */
#define CHANGE_SETTLES 37            /* settle_slots in votes.change_vote */
#define SWEEP_SETTLES 38             /* settle_slots in leases.free_expired_leases */
#define SKIP_SETTLES 39              /* settle_slots in skips.skip_story */
#define EXCLUSION_SETTLES 40         /* settle_slots in exclusions.stop_counting */
#define READMISSION_SETTLES 41       /* settle_slots in exclusions.restore_votes */
#define GUARDS 41

#ifndef WITHOUT
#define WITHOUT 0 /* the guard that is removed */
#endif
#ifndef CUT
#define CUT 0 /* 1: claims are cut where they read before they lock */
#endif
#define guard(name) (WITHOUT != name)

#define at(p, s) ((p) * STORIES + (s))
#define OPEN 0
#define CONFIRMED 1
#define UNCONFIRMED 2 /* WorkSession.State.DOUBTED */
#define QUALIFIED 0
#define SUSPENDED 1
#define OUT 2 /* suspended, and all votes excluded */
#define IDLE 0
#define CLAIM 1
#define VOTE 2
#define AGAIN 3
#define RESERVE 4

/* The rows. */
mtype:state state[6];  /* Assignment.state */
byte slot[6];          /* Assignment.slot while it is living, else 0 */
byte visit[6];         /* WorkSession.state */
bit alone[6];          /* a VoteExclusion of this one assignment is in force */
bit credited[6];       /* Skip.credited */
bit voted[6];          /* there is a Vote of revision 1 */
bit given[6];          /* Assignment.given while it is held: afterwards it only tells what happened */
bit surplus[6];        /* the newest Vote has a surplus_reason */
bit free[2] = 1;       /* Story.has_free_slot */
byte wanted[2] = SLOTS; /* Study.votes_per_story + Story.extra_votes */
bit undecided[2];      /* the votes that the story has leave it undecided: what the rule says, in no row */
byte standing[3];      /* Enrollment.state, and an exclusion of all votes */
byte submitted[3];     /* Enrollment.stories_submitted */
byte skipped[3];       /* Enrollment.stories_skipped */
byte left;             /* decisions that are still allowed */
bit picked[3];         /* decisions are about this person */

/* A transaction between its reads and its writes, one per person. */
byte doing[3];
byte story[3];
byte found[3];         /* the slot that it read as free */
byte read[3];          /* what else it read */

byte p, s;             /* the next step's person and story */
bit moved;             /* their form comes from a later visit, which takes answers */
bit no_place;          /* take_design_place finds none in the person's load: only the person's rows say so */
bit designed;          /* the study has a design: items are reserved before they are leased */
bit adaptive;          /* the study has an adaptive number of votes, from 1 to SLOTS */
bit open_end;          /* if this step changes votes, they leave the story undecided */
bit named;             /* stories are given by name */
hidden byte x, y, i, number, was_leased, was_qualified;
hidden int swap, key[3], key_of_story[2];

#define held(x) (state[x] == RESERVED || state[x] == LEASED)
#define living(x) (state[x] == RESERVED || state[x] == LEASED || state[x] == SUBMITTED || state[x] == PENDING)
#define counting(x) (state[x] == SUBMITTED || state[x] == PENDING)
#define unanswered(x) (state[x] == RESERVED || state[x] == LEASED || state[x] == EXPIRED || state[x] == SKIPPED)
#define answered(x) (state[x] != NO_ROW && !unanswered(x))
#define is_final(x) (state[x] == NO_ROW || state[x] == SURPLUS || state[x] == DISPLACED)
#define taken(s, number) (slot[at(0, s)] == number || slot[at(1, s)] == number || slot[at(2, s)] == number)
#define holders(s) ((slot[at(0, s)] != 0) + (slot[at(1, s)] != 0) + (slot[at(2, s)] != 0))
#define answers(s) (counting(at(0, s)) + counting(at(1, s)) + counting(at(2, s)))
#define lowest_free(s) (holders(s) >= wanted[s] -> 0 : (!taken(s, 1) -> 1 : (!taken(s, 2) -> 2 : 0)))
#define holds(p) (state[at(p, 0)] == LEASED || state[at(p, 1)] == LEASED)
#define person_is_free(p) (doing[p] == IDLE \
	|| (doing[p] == CLAIM && !guard(CLAIM_LOCKS_PERSON)) || (doing[p] == VOTE && !guard(VOTE_LOCKS_PERSON)))
#define assignment_is_free(p, s) (!(doing[p] == VOTE && story[p] == s && guard(VOTE_LOCKS_ASSIGNMENT)))
#define nobody_is_picked (picked[0] + picked[1] + picked[2] == 0)
#define may_decide(p) (left > 0 && (!ABOUT_ONE || picked[p] || nobody_is_picked) && person_is_free(p) &&\
	!(doing[p] == VOTE && held(at(p, story[p])))) /* release_assignments waits for that row */
#define is_cut (!guard(CLAIM_COUNTS_AFTER_LOCK) || !guard(RESERVING_COUNTS_AFTER_LOCK) || !guard(READMISSION_LOCKS_STORIES) || vote_is_cut)
#define claim_is_cut (CUT || !guard(CLAIM_COUNTS_AFTER_LOCK) || !guard(CLAIM_LOCKS_PERSON))
#define vote_is_cut (!guard(VOTE_LOCKS_PERSON) || !guard(VOTE_LOCKS_ASSIGNMENT) || !guard(LATE_VOTE_LOCKS_STORY))

inline mark_full(its) { if :: holders(its) == wanted[its] -> free[its] = 0 :: else fi }

#define most_of(one, other) (one > other -> one : other)
#define votes_wanted(its) (answers(its) > 1 -> answers(its) : 1 + undecided[its])
#define slots_wanted(its) most_of(votes_wanted(its), holders(its))

/* What the votes say, after they changed; it is in no row. */
inline say(its) { undecided[its] = adaptive && open_end && answers(its) == 1 }

/* settle_slots */
inline settle(its) {
	if
	:: adaptive ->
		wanted[its] = (guard(HOLDERS_KEEP_SLOTS) -> slots_wanted(its) : votes_wanted(its));
		free[its] = holders(its) < wanted[its]
	:: else
	fi
}

/* free_slots; that the rest of a set expires earlier is nothing here, where a lease may run out at any moment */
inline end_lease(z, its) { state[z] = EXPIRED; slot[z] = 0; given[z] = 0; free[its] = 1 }

/* free_slots of a lease on a story that was given by name: it waits for the same person */
inline keep() { state[x] = RESERVED; visit[x] = OPEN }

inline end_reservations() {
	for (i : 0 .. STORIES - 1) {
		y = at(p, i);
		if :: state[y] == RESERVED -> end_lease(y, i) :: else fi;
		given[y] = 0 /* a lease that goes on is an ordinary one */
	}
}

/* take_items_back: a lease that goes on stays given */
inline take_back() {
	for (i : 0 .. STORIES - 1) {
		y = at(p, i);
		if :: state[y] == RESERVED -> end_lease(y, i) :: else fi
	}
}

/* state_of_answer for a visit that is not doubted */
inline take_state(z) {
	if
	:: visit[z] == CONFIRMED -> state[z] = SUBMITTED
	:: else -> state[z] = PENDING
	fi
}

inline begin(what) {
	doing[p] = what; story[p] = s;
	if :: is_cut -> found[p] = lowest_free(s); read[p] = (standing[p] == QUALIFIED) + 2 * held(x) :: else fi
}
inline finish() { doing[p] = IDLE; story[p] = 0; found[p] = 0; read[p] = 0 }

/* _give_out and give_slot, on a locked story */
inline give_out() {
	assert(number != 0);                                /* a story marked free has a free slot */
	assert(state[x] == NO_ROW || state[x] == EXPIRED);  /* one_assignment_per_person_and_story */
	assert(!holds(p));                                  /* one_lease_at_a_time_per_person */
	assert(standing[p] == QUALIFIED);                   /* only the qualified are served */
	state[x] = LEASED; slot[x] = number; visit[x] = OPEN;
	if :: guard(CLAIM_MARKS_FULL) -> mark_full(s) :: else fi
}

/* reserve_set, on locked stories: here one item at a time, since its steps may follow each other at once */
inline reserve() {
	assert(number != 0);                                /* a story marked free has a free slot */
	assert(state[x] == NO_ROW || state[x] == EXPIRED);  /* one_assignment_per_person_and_story */
	state[x] = RESERVED; slot[x] = number; visit[x] = OPEN;
	if :: guard(RESERVING_MARKS_FULL) -> mark_full(s) :: else fi
}

/* lease_reserved */
inline lease_reserved() {
	assert(!holds(p));                                  /* one_lease_at_a_time_per_person */
	assert(standing[p] == QUALIFIED);                   /* only the qualified are served */
	state[x] = LEASED
}

/* _settle_slot */
inline settle_slot() {
	if
	:: !was_qualified && guard(VOTE_ASKS_QUALIFIED) ->
		surplus[x] = 1;
		if :: was_leased && guard(UNQUALIFIED_VOTE_FREES) -> free[s] = 1 :: else fi
	:: else ->
		if
		:: visit[x] == UNCONFIRMED && guard(VOTE_ASKS_DOUBTED) -> skip
		:: else ->
			if
			:: was_leased -> if :: slot[x] == 0 -> slot[x] = 1 :: else fi /* it writes the slot that it read */
			:: else ->
				if
				:: !guard(LATE_VOTE_TAKES_SLOT) || (number == 0 && !guard(LATE_VOTE_IS_SURPLUS)) -> slot[x] = 1
				:: number == 0 && guard(LATE_VOTE_IS_SURPLUS) -> surplus[x] = 1
				:: else ->
					slot[x] = number;
					if :: guard(LATE_VOTE_MARKS_FULL) -> mark_full(s) :: else fi
				fi
			fi
		fi
	fi
}

inline decided() { if :: ABOUT_ONE -> picked[p] = 1 :: else -> left-- fi }

/* record_vote, at the moment of its writes */
inline record_vote() {
	was_leased = (guard(VOTE_LOCKS_ASSIGNMENT) -> held(x) : (read[p] & 2) != 0);
	was_qualified = (guard(VOTE_LOCKS_PERSON) -> standing[p] == QUALIFIED : (read[p] & 1) != 0);
	number = (guard(LATE_VOTE_LOCKS_STORY) -> lowest_free(s) : found[p]);
	if :: no_place -> number = 0 :: else fi;
	if
	:: answered(x) && guard(FIRST_VOTE_WINS) -> skip  /* the first receipt again */
	:: else ->
		assert(!voted[x]);                            /* one_vote_per_assignment_and_revision */
		if :: moved -> visit[x] = OPEN :: else fi  /* _session_of_answer: sent in a later visit */
		settle_slot();
		if
		:: state[x] == SKIPPED -> skipped[p]--; submitted[p] = submitted[p] + !(credited[x] && guard(SKIP_IS_NOT_PAID_TWICE))
		:: else -> submitted[p]++
		fi;
		credited[x] = 0; given[x] = 0;
		voted[x] = !surplus[x] || guard(LATE_VOTE_IS_STORED);
		if
		:: surplus[x] -> state[x] = SURPLUS; slot[x] = 0; visit[x] = OPEN
		:: visit[x] == UNCONFIRMED -> state[x] = DOUBTED; slot[x] = 0
		:: else -> take_state(x)
		fi;
		if :: counting(x) -> say(s) :: else fi;
		if :: guard(VOTE_SETTLES) -> settle(s) :: else fi
	fi;
	assert(voted[x])                                  /* whoever gets a receipt has a stored vote */
}

/* skip_story */
inline skip_story() {
	if :: held(x) && guard(SKIP_FREES_STORY) -> free[s] = 1 :: else fi;
	if :: moved -> visit[x] = OPEN :: else fi;
	credited[x] = skipped[p] < ALLOWANCE;
	skipped[p]++; submitted[p] = submitted[p] + credited[x];
	state[x] = SKIPPED; slot[x] = 0; given[x] = 0;
	if :: guard(SKIP_SETTLES) -> settle(s) :: else fi
}

/* exclusions.stop_counting for one assignment */
inline stop(z, its, become) {
	if
	:: counting(z) ->
		state[z] = become; slot[z] = 0;
		if :: guard(EXCLUSION_FREES_STORY) -> free[its] = 1 :: else fi;
		say(its);
		if :: guard(EXCLUSION_SETTLES) -> settle(its) :: else fi
	:: else
	fi
}

/* exclusions.restore_votes for one assignment */
inline again(z, its) {
	number = (guard(READMISSION_LOCKS_STORIES) || doing[p] != AGAIN -> lowest_free(its) : found[p]);
	if
	:: visit[z] == UNCONFIRMED && guard(READMISSION_ASKS_DOUBTED) -> state[z] = DOUBTED
	:: else ->
		if
		:: number == 0 && guard(READMISSION_COUNTS_SLOTS) -> state[z] = DISPLACED; visit[z] = OPEN
		:: else ->
			slot[z] = (number == 0 -> 1 : number);
			take_state(z);
			if :: guard(READMISSION_MARKS_FULL) -> mark_full(its) :: else fi;
			say(its);
			if :: guard(READMISSION_SETTLES) -> settle(its) :: else fi
		fi
	fi
}

inline exclude_annotator() {
	standing[p] = OUT;
	for (i : 0 .. STORIES - 1) {
		y = at(p, i);
		if :: held(y) && guard(EXCLUSION_ENDS_LEASE) -> end_lease(y, i); settle(i) :: else fi;
		stop(y, i, EXCLUDED)
	}
}

/* It ends the suspension that came with it; who had been suspended before is suspended in a step of its own. */
inline readmit_annotator() {
	standing[p] = QUALIFIED;
	for (i : 0 .. STORIES - 1) {
		y = at(p, i);
		if
		:: state[y] == EXCLUDED && !(alone[y] && guard(READMISSION_KEEPS_ALONE)) -> again(y, i)
		:: else
		fi
	}
}

inline readmit_vote() {
	alone[x] = 0;
	if :: standing[p] != OUT && state[x] == EXCLUDED -> again(x, s) :: else fi
}

inline confirm_session() {
	visit[x] = CONFIRMED;
	if
	:: state[x] == PENDING -> state[x] = SUBMITTED
	:: state[x] == DOUBTED && ((standing[p] == OUT && guard(CONFIRMING_ASKS_EXCLUDED)) || alone[x]) -> state[x] = EXCLUDED
	:: state[x] == DOUBTED && !((standing[p] == OUT && guard(CONFIRMING_ASKS_EXCLUDED)) || alone[x]) -> again(x, s)
	:: else
	fi
}

inline doubt_session() {
	visit[x] = UNCONFIRMED;
	if
	:: state[x] == LEASED && given[x] -> keep()
	:: state[x] == LEASED && !given[x] -> end_lease(x, s); settle(s); if :: !named -> end_reservations() :: else fi
	:: else
	fi;
	if :: guard(DOUBT_STOPS_COUNTING) -> stop(x, s, DOUBTED) :: else fi
}

/* change_vote: a newer revision, which touches nothing but itself */
inline change_vote() {
	if :: !guard(CHANGE_KEEPS_REASON) -> surplus[x] = 0 :: else fi;
	if :: !guard(CHANGE_LEAVES_ASSIGNMENT) -> take_state(x) :: else fi;
	if :: counting(x) -> say(s) :: else fi;
	if :: guard(CHANGE_SETTLES) -> settle(s) :: else fi
}

#define credit(x) (answered(x) || (state[x] == SKIPPED && credited[x]))

/* The invariants, between any two transactions. */
inline check() {
	for (i : 0 .. 5) {
		/* Invariant 1, slot_is_one_of_the_storys_slots: the living hold a slot each, the others none. */
		assert(living(i) == (slot[i] != 0) && slot[i] <= SLOTS);
		/* Invariant 2: an answer is stored, for good. */
		assert(answered(i) == voted[i]);
		/* Invariant 3: what does not count has its reason, and what has one does not count. */
		assert(surplus[i] == (state[i] == SURPLUS));
		/* What was given by name waits for whoever may get it, and nothing else is reserved without a design. */
		assert(!given[i] || (held(i) && standing[i / STORIES] == QUALIFIED)); /* nothing_given_by_name_expires */
		assert(state[i] != RESERVED || designed || given[i]);
		assert(!living(i) || (standing[i / STORIES] != OUT && !alone[i] && visit[i] != UNCONFIRMED));
		assert(state[i] != PENDING || visit[i] == OPEN);
		assert(state[i] != DOUBTED || visit[i] == UNCONFIRMED);
		assert(state[i] != EXCLUDED || standing[i / STORIES] == OUT || alone[i])
	}
	for (i : 0 .. STORIES - 1) {
		/* Invariant 1, one_living_assignment_per_slot. */
		assert(!(slot[at(0, i)] && (slot[at(0, i)] == slot[at(1, i)] || slot[at(0, i)] == slot[at(2, i)])));
		assert(!(slot[at(1, i)] && slot[at(1, i)] == slot[at(2, i)]));
		/* A free slot is offered, and a full story is not. */
		assert(free[i] == (holders(i) < wanted[i]));
		/* A story wants as many votes as its rule says, or as many as hold a slot. */
		assert(wanted[i] == (adaptive -> slots_wanted(i) : SLOTS))
	}
	for (i : 0 .. PEOPLE - 1) {
		assert(!(state[at(i, 0)] == LEASED && state[at(i, 1)] == LEASED)); /* one_lease_at_a_time_per_person */
		/* Invariant 3: every answer is credited once, and so is a paid skip. */
		assert(submitted[i] == credit(at(i, 0)) + credit(at(i, 1)));
		assert(skipped[i] == (state[at(i, 0)] == SKIPPED) + (state[at(i, 1)] == SKIPPED))
	}
}

/* Symmetry: swap people, and stories, into one order. */
#define exchange(field, one, two) swap = field[one]; field[one] = field[two]; field[two] = swap
inline exchange_rows(one, two) {
	exchange(state, one, two); exchange(slot, one, two); exchange(visit, one, two); exchange(alone, one, two);
	exchange(credited, one, two); exchange(voted, one, two); exchange(surplus, one, two); exchange(given, one, two)
}
#define code(x) (state[x] + 11 * (visit[x] + 3 * (alone[x] + 2 * credited[x])))
inline order_people(one, two) {
	if
	:: key[one] > key[two] ->
		exchange_rows(at(one, 0), at(two, 0)); exchange_rows(at(one, 1), at(two, 1));
		exchange(standing, one, two); exchange(picked, one, two); exchange(submitted, one, two); exchange(skipped, one, two);
		exchange(doing, one, two); exchange(story, one, two); exchange(found, one, two); exchange(read, one, two);
		exchange(key, one, two)
	:: else
	fi
}
inline put_in_order() {
	for (i : 0 .. STORIES - 1) {
		key_of_story[i] = code(at(0, i)) * code(at(0, i)) + code(at(1, i)) * code(at(1, i)) + code(at(2, i)) * code(at(2, i))
	}
	if
	:: key_of_story[0] > key_of_story[1] ->
		exchange(free, 0, 1); exchange(wanted, 0, 1); exchange(undecided, 0, 1);
		for (i : 0 .. PEOPLE - 1) {
			exchange_rows(at(i, 0), at(i, 1));
			if :: doing[i] != IDLE -> story[i] = 1 - story[i] :: else fi
		}
	:: else
	fi;
	for (i : 0 .. PEOPLE - 1) {
		key[i] = code(at(i, 0)) + 132 * (code(at(i, 1)) + 132 * (standing[i] + 3 * (doing[i] + 5 * (story[i] + 2 * picked[i]))))
	}
	order_people(0, 1); order_people(1, 2); order_people(0, 1);
	for (i : 0 .. STORIES - 1) {
		if
		:: slot[at(0, i)] == 2 || (slot[at(0, i)] == 0 && (slot[at(1, i)] == 2 || (slot[at(1, i)] == 0 && slot[at(2, i)] == 2))) ->
			for (y : 0 .. PEOPLE - 1) {
				if :: slot[at(y, i)] -> slot[at(y, i)] = 3 - slot[at(y, i)] :: else fi;
				if :: story[y] == i && found[y] -> found[y] = 3 - found[y] :: else fi
			}
		:: else
		fi
	}
}

#define it at(p, s)
#define may_reserve (doing[p] == IDLE && standing[p] == QUALIFIED && free[s] && !holds(p) && \
	(state[it] == NO_ROW || state[it] == EXPIRED))
#define may_move (visit[it] != OPEN && (state[it] == LEASED || state[it] == EXPIRED))

init {
	left = DECISIONS;
	if
	:: STUDIES & 1
	:: STUDIES & 2 -> designed = 1
	:: STUDIES & 4 -> named = 1
	:: STUDIES & 8 -> adaptive = 1
	fi;
	if :: adaptive -> wanted[0] = 1; wanted[1] = 1 :: else fi;
	do
	:: atomic {
		if :: p = 0 :: p = 1 :: p = 2 fi;
		if :: s = 0 :: s = 1 fi;
		if :: open_end = 0 :: adaptive -> open_end = 1 fi;
		if
		/* assign_next_story: the search, then what it does with the story that it has locked */
		:: !designed && doing[p] == IDLE && (standing[p] == QUALIFIED || !guard(CLAIM_ASKS_MAY_BE_SERVED)) && free[s] &&
			(!holds(p) || !guard(CLAIM_HOLDS_ONE)) &&
			(state[it] == NO_ROW || state[it] == EXPIRED || !guard(CLAIM_LEAVES_OUT_OWN)) ->
			d_step {
				x = it;
				if
				:: claim_is_cut -> begin(CLAIM)
				:: else -> number = lowest_free(s); give_out()
				fi
			}
		:: doing[p] == CLAIM && story[p] == s ->
			d_step {
				x = it;
				number = (guard(CLAIM_COUNTS_AFTER_LOCK) -> lowest_free(s) : found[p]);
				if :: free[s] -> give_out() :: else fi; /* PostgreSQL looks again at what it locked; if full, search again */
				finish()
			}

		/* assign_next_story in a study with a design */
		:: designed && may_reserve && !is_cut ->
			d_step { x = it; number = lowest_free(s); reserve() }
		:: designed && may_reserve && is_cut ->
			d_step { x = it; begin(RESERVE) }
		:: doing[p] == RESERVE && story[p] == s ->
			d_step {
				x = it;
				number = (guard(RESERVING_COUNTS_AFTER_LOCK) -> lowest_free(s) : found[p]);
				if :: free[s] -> reserve() :: else fi;
				finish()
			}
		:: state[it] == RESERVED && doing[p] == IDLE && (standing[p] == QUALIFIED || !guard(CLAIM_ASKS_MAY_BE_SERVED)) &&
			(!holds(p) || !guard(CLAIM_HOLDS_ONE)) ->
			d_step { x = it; lease_reserved() }

		/* give_items, take_items_back */
		:: named && doing[p] == IDLE && standing[p] == QUALIFIED && free[s] && (state[it] == NO_ROW || state[it] == EXPIRED) ->
			d_step { x = it; number = lowest_free(s); reserve(); given[x] = 1 }
		:: named && s == 0 && doing[p] == IDLE ->
			d_step { take_back(); i = 0 }

		/* free_expired_leases, give_back_story, release_lease */
		:: given[it] && state[it] == LEASED && assignment_is_free(p, s) ->
			d_step { x = it; keep() }
		:: held(it) && !given[it] && assignment_is_free(p, s) ->
			d_step {
				x = it; y = free[s]; end_lease(x, s);
				if :: !guard(SWEEP_FREES_STORY) -> free[s] = y :: else fi;
				if :: guard(SWEEP_SETTLES) -> settle(s) :: else fi
			}

		/* record_vote: in time, late, again after a receipt, after a skip */
		:: state[it] != NO_ROW && person_is_free(p) && assignment_is_free(p, s) && !vote_is_cut ->
			if :: moved = 0 :: may_move -> moved = 1 fi;
			if :: no_place = 0 :: designed && state[it] == EXPIRED -> no_place = 1 fi;
			d_step { x = it; record_vote() }
		:: state[it] != NO_ROW && !answered(it) && doing[p] == IDLE && vote_is_cut ->
			d_step { x = it; begin(VOTE) }
		:: doing[p] == VOTE && story[p] == s ->
			if :: moved = 0 :: may_move -> moved = 1 fi;
			if :: no_place = 0 :: designed && state[it] == EXPIRED -> no_place = 1 fi;
			d_step { x = it; record_vote(); finish() }
		:: voted[it] && standing[p] == QUALIFIED && person_is_free(p) ->
			d_step { x = it; change_vote() }
		:: (unanswered(it) || (!guard(VOTE_STAYS_OVER_SKIP) && answered(it))) && state[it] != SKIPPED &&
			person_is_free(p) && assignment_is_free(p, s) ->
			if :: moved = 0 :: may_move -> moved = 1 fi;
			d_step { x = it; skip_story() }

		/* Researchers */
		:: s == 0 && may_decide(p) && standing[p] != OUT ->
			d_step { exclude_annotator(); decided() }
		:: s == 0 && may_decide(p) && standing[p] == OUT ->
			d_step { readmit_annotator(); decided() }
		:: s == 0 && may_decide(p) && standing[p] == QUALIFIED -> /* suspend, also by hidden checks */
			d_step { end_reservations(); standing[p] = SUSPENDED; decided() }
		:: s == 0 && may_decide(p) && standing[p] == SUSPENDED -> /* reinstate */
			d_step { decided(); standing[p] = QUALIFIED }
		:: may_decide(p) && (counting(it) || state[it] == EXCLUDED) && !alone[it] -> /* exclude_vote */
			d_step { decided(); x = it; alone[x] = 1; stop(x, s, EXCLUDED) }
		:: may_decide(p) && alone[it] && guard(READMISSION_LOCKS_STORIES) ->
			d_step { decided(); x = it; readmit_vote() }
		:: may_decide(p) && alone[it] && !guard(READMISSION_LOCKS_STORIES) ->
			d_step { decided(); x = it; begin(AGAIN) }
		:: doing[p] == AGAIN && story[p] == s ->
			d_step { x = it; readmit_vote(); finish() }

		/* Platforms */
		:: may_decide(p) && doing[p] != VOTE && visit[it] != CONFIRMED && !is_final(it) && state[it] != RESERVED ->
			d_step { decided(); x = it; confirm_session() }
		:: may_decide(p) && doing[p] != VOTE && visit[it] != UNCONFIRMED && !is_final(it) && state[it] != RESERVED ->
			d_step { decided(); x = it; doubt_session() }
		fi;
		d_step { check(); put_in_order(); p = 0; s = 0; moved = 0; no_place = 0; open_end = 0 }
	}
	od
}
