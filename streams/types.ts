import { Type, type Static } from 'typebox'
import { Nullable } from '../engine/aggregates/types.ts'
import { personalCategories } from '../platform/kit/personal-content.ts'

/**
 * Place of the `ai_review.completed` of a review on its channel. The reviews of one case and product complete in the
 * order in which they got the slot, so a newer review has a larger number.
 */
export const ReviewOrdinal = Type.Integer({ minimum: 0 })

/** How an image was taken, as the AI review and its provider name it. */
export const ImageType = Type.Enum(['DERMOSCOPIC', 'MACROSCOPIC'])
export type ImageType = Static<typeof ImageType>

/** The ways to reach a recipient. */
export const NotificationChannel = Type.Enum(['email', 'slack'])
export type NotificationChannel = Static<typeof NotificationChannel>

/** Users may opt out of every category but `transactional`. */
export const NotificationCategory = Type.Enum(['transactional', 'clinical', 'marketing', 'operational'])
export type NotificationCategory = Static<typeof NotificationCategory>

/** The subjects of timelines, as the API names them in `<kind>_id`. */
export const SubjectKind = Type.Enum([
  'patient',
  'case',
  'assessment',
  'ai_review',
  'task',
  'workflow_instance',
  'notification',
  'user',
  'client',
  'subscription',
])
export type SubjectKind = Static<typeof SubjectKind>

/** Kinds of personal content that were shown. */
export const PersonalCategory = Type.Enum([...personalCategories])

/** Of an export of everything about a patient. */
export const ExportStatus = Type.Enum(['running', 'finished', 'failed'])

export const CodedTerm = Type.Object({ code: Nullable(Type.String()), term: Nullable(Type.String()) })
