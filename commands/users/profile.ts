import { isDeepStrictEqual } from 'node:util'
import { isUser, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { PatientAccount, PractitionerProfile, UserEvent } from '../../streams/user/events.ts'
import { refused, type Decision } from '../handling/decision.ts'

type Profile = Omit<
  Extract<UserEvent, { type: 'UserChanged' }>['data'],
  'userId' | 'members' | 'changedAt' | 'changedBy'
>

export interface ChangeProfile {
  /** Undefined members stay as they are, also those inside of a profile. */
  readonly email?: string | undefined
  readonly displayName?: string | undefined
  readonly locale?: string | null | undefined
  readonly practitionerProfile?: Partial<PractitionerProfile> | undefined
  readonly patientAccount?: Partial<PatientAccount> | undefined
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
    (member) => !member.endsWith('Id') && !isDeepStrictEqual(after[member], before[member]),
  )
  if (members.length === 0) return []
  const { changedBy, now } = command
  const data = { ...after, userId: state.userId, members, changedAt: now.toISOString(), changedBy }
  return [{ type: 'UserChanged', data }]
}

function changedProfile(command: ChangeProfile, before: Profile): Profile {
  const { email = before.email, displayName = before.displayName, locale = before.locale, newProfileId } = command
  const profile = { ...before, email, displayName, locale }
  if (command.practitionerProfile !== undefined) {
    profile.practitionerProfileId ??= newProfileId
    profile.practitionerProfile = {
      ...emptyPractitioner,
      ...before.practitionerProfile,
      ...command.practitionerProfile,
    }
  }
  if (command.patientAccount !== undefined) {
    profile.patientAccountId ??= newProfileId
    profile.patientAccount = { ...emptyAccount, ...before.patientAccount, ...command.patientAccount }
  }
  return profile
}

export const emptyPractitioner: PractitionerProfile = {
  professionalId: null,
  professionalIdType: null,
  speciality: null,
  credentials: null,
}
export const emptyAccount: PatientAccount = { clinicalPatientId: null, contactPreferences: null }

function profileOf(user: User): Profile {
  const { email, displayName, locale } = user
  const { practitionerProfileId, practitionerProfile, patientAccountId, patientAccount } = user
  return { email, displayName, locale, practitionerProfileId, practitionerProfile, patientAccountId, patientAccount }
}
