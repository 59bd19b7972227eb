import { Type, type Static } from 'typebox'
import { Instant, Nullable } from '../../platform/http/members.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const AgreementRow = Type.Object({
  provider_version: Nullable(Type.String()),
  category: Nullable(Type.String({ description: 'Of the AI' })),
  lesions: Type.Integer(),
  confirmed: Type.Integer(),
  corrected: Type.Integer(),
  rejected: Type.Integer(),
  agreement: Type.Number({ description: 'confirmed / lesions, to 4 decimals' }),
})

export const AgreementReport = Type.Object(
  {
    from: Instant,
    to: Instant,
    tasks: Type.Integer({ description: 'Decided tasks' }),
    tasks_agreed: Type.Integer({ description: 'Decided tasks with every lesion confirmed' }),
    data: Type.Array(AgreementRow),
  },
  { $id: 'HumanReviewAgreement' },
)
export type AgreementReport = Static<typeof AgreementReport>

type Figures = Omit<ValuesOf<typeof AgreementRow>, 'agreement'>
type ReportValues = Omit<ValuesOf<typeof AgreementReport>, 'data'> & { readonly data: readonly Figures[] }

export function toAgreementReport({ data, ...report }: ReportValues): AgreementReport {
  return toRecord(AgreementReport, {
    ...report,
    data: data.map((row) =>
      toRecord(AgreementRow, { ...row, agreement: Math.round((row.confirmed / row.lesions) * 10_000) / 10_000 }),
    ),
  })
}
