import { isDeepStrictEqual } from 'node:util'
import { clinicalPatientOf, isUser, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { PatientAccount, PractitionerProfile, UserEvent } from '../../streams/user/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { isUuid } from '../../platform/http/formats.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { Vault } from '../../platform/vault/vault.ts'

type Profile = Omit<
  Extract<UserEvent, { type: 'UserChanged' }>['data'],
  'userId' | 'members' | 'organisationIds' | 'changedAt' | 'changedBy'
>

type PractitionerValues = Omit<PractitionerProfile, keyof Part>
type PatientValues = Omit<PatientAccount, keyof Part>

export interface ChangeProfile {
  /** Undefined members stay as they are, also those inside of a profile. */
  readonly email?: string | undefined
  readonly displayName?: string | undefined
  readonly locale?: string | null | undefined
  readonly practitionerProfile?: Partial<PractitionerValues> | undefined
  readonly patientAccount?: Partial<PatientValues> | undefined
  /** Id of a profile that the user does not have yet. */
  readonly newProfileId: string
  readonly changedBy: string
  readonly now: Date
}

/** A profile fits the type of the user (specification 2.4). */
export function changeProfile(
  command: ChangeProfile,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'not-a-clinician' | 'not-a-patient'> {
  if (!isUser(state)) return refused('not-found')
  if (command.practitionerProfile !== undefined && state.userType !== 'clinician') return refused('not-a-clinician')
  if (command.patientAccount !== undefined && state.userType !== 'patient') return refused('not-a-patient')
  const before = profileOf(state)
  const after = changedProfile(command, before)
  const members = (Object.keys(after) as (keyof Profile)[]).filter(
    (member) => !isDeepStrictEqual(after[member], before[member]),
  )
  if (members.length === 0) return []
  const { changedBy, now } = command
  const organisationIds = [...state.memberships.values()].map((one) => one.organisationId)
  const data = { ...after, userId: state.userId, members, organisationIds, changedAt: now.toISOString(), changedBy }
  return [{ type: 'UserChanged', data }]
}

function changedProfile(command: ChangeProfile, before: Profile): Profile {
  const { email = before.email, displayName = before.displayName, locale = before.locale } = command
  const { practitionerProfile: practitioner, patientAccount: patient } = command
  return {
    email,
    displayName,
    locale,
    practitionerProfile:
      practitioner === undefined
        ? before.practitionerProfile
        : changedPart(command, { ...emptyPractitioner, ...before.practitionerProfile }, practitioner),
    patientAccount:
      patient === undefined
        ? before.patientAccount
        : changedPart(command, { ...emptyAccount, ...before.patientAccount }, withPlatformId(patient)),
  }
}

/** Whether the account names a patient of one of the organisations whose erasure has begun. */
export function namesErased(
  account: Pick<User, 'patientAccount'>,
  organisationIds: readonly TenantId[],
  vault: Pick<Vault, 'isClosed'>,
): boolean {
  const patientId = clinicalPatientOf(account)
  return patientId !== null && organisationIds.some((orgId) => vault.isClosed(orgId, patientId))
}

/** Messages and the patient's erasure look the account up by the patient's id as the platform writes it. */
function withPlatformId(account: Partial<PatientValues>): Partial<PatientValues> {
  const { clinicalPatientId: id } = account
  return typeof id === 'string' && isUuid(id) ? { ...account, clinicalPatientId: id.toLowerCase() } : account
}

interface Part {
  readonly id?: string
  readonly createdAt?: string
  readonly updatedAt?: string
}

/** The part keeps its id and its times unless something changes. */
function changedPart<Values extends object>(
  { newProfileId, now }: ChangeProfile,
  before: Values & Part,
  changes: Partial<Values>,
) {
  const { id = newProfileId, createdAt = now.toISOString(), updatedAt = createdAt } = before
  const after = { ...before, ...changes, id, createdAt, updatedAt }
  return isDeepStrictEqual(after, before) ? after : { ...after, updatedAt: now.toISOString() }
}

const emptyPractitioner: PractitionerValues = {
  professionalId: null,
  professionalIdType: null,
  speciality: null,
  credentials: null,
}
const emptyAccount: PatientValues = { clinicalPatientId: null, contactPreferences: null }

/** The profiles of a new user. */
export function newProfiles(
  { practitionerProfile, patientAccount }: Pick<ChangeProfile, 'practitionerProfile' | 'patientAccount'>,
  by: Pick<ChangeProfile, 'newProfileId' | 'now'>,
): Pick<Profile, 'practitionerProfile' | 'patientAccount'> {
  const command = { ...by, changedBy: '', practitionerProfile, patientAccount }
  const none = { email: null, displayName: null, locale: null, practitionerProfile: null, patientAccount: null }
  const profile = changedProfile(command, none)
  return { practitionerProfile: profile.practitionerProfile, patientAccount: profile.patientAccount }
}

function profileOf({ email, displayName, locale, practitionerProfile, patientAccount }: User): Profile {
  return { email, displayName, locale, practitionerProfile, patientAccount }
}
