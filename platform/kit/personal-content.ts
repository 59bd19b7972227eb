/** Kinds of personal content that answers show. An access record names them. */
export const personalCategories = [
  'record',
  'consent',
  'images',
  'results',
  'raw_response',
  'answers',
  'notes',
  'notifications',
  'timeline',
  'as_of',
  'export',
  'contact',
] as const
export type PersonalCategory = (typeof personalCategories)[number]

/** Codes of HL7 PurposeOfUse that a caller may name. */
export const purposesOfUse = ['TREAT', 'HPAYMT', 'HOPERAT', 'HRESCH', 'PATRQT', 'ETREAT', 'PUBHLTH'] as const
export type PurposeOfUse = (typeof purposesOfUse)[number]

/** Treatment in an emergency: somebody looks at the record without the usual reason. */
export const emergency = 'ETREAT' satisfies PurposeOfUse

/** Keyword of a schema. Validators and OpenAPI ignore it. */
export const personalKeyword = 'personal'

/** Marks a record or a member of an answer as personal content: `Type.Object({ … }, { $id, ...personal('record') })`. */
export function personal(category: PersonalCategory): { readonly personal: PersonalCategory } {
  return { [personalKeyword]: category }
}
