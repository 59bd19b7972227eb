import type { Fold } from '../store/events.ts'
import type { ConsentTypeEvent } from './events.ts'
import { category } from './stream.ts'

export interface TextVersion {
  readonly textVersionId: string
  readonly locale: string
  readonly text: string
  readonly contentHash: string
  readonly effectiveFrom: string
  readonly createdAt: string
  readonly fingerprint: string | null
}

export type ConsentTypeState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'defined'
      readonly consentTypeId: string
      readonly organisationId: string
      readonly code: string
      readonly displayName: string
      readonly description: string | null
      readonly legalBasis: string
      readonly required: boolean
      readonly createdAt: string
      readonly fingerprint: string | null
      readonly isUsed: boolean
      readonly textVersions: readonly TextVersion[]
    }

export type DefinedConsentType = Extract<ConsentTypeState, { status: 'defined' }>

function evolve(state: ConsentTypeState, event: ConsentTypeEvent): ConsentTypeState {
  if (event.type === 'ConsentTypeCreated') return { status: 'defined', ...event.data, isUsed: false, textVersions: [] }
  if (state.status !== 'defined') return state
  switch (event.type) {
    case 'ConsentTextVersionPublished': {
      const { consentTypeId: _, ...version } = event.data
      return { ...state, textVersions: [...state.textVersions, version] }
    }
    case 'ConsentTypeUsed':
      return { ...state, isUsed: true }
  }
}

export const consentTypeFold: Fold<ConsentTypeState, ConsentTypeEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve,
}
