import type { CaseEvent } from '../../streams/case/events.ts'
import { defineProjector, insert } from '../runtime/projector.ts'
import { cases } from './cases.table.ts'

export const casesProjector = defineProjector<CaseEvent>()({
  name: 'cases',
  version: 1,
  tables: [cases],
  handlers: {
    CaseOpened: ({ data, revision }) => [
      insert(cases, {
        case_id: data.caseId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        product_id: data.productId,
        external_reference: data.externalReference,
        opened_at: data.openedAt,
        stream_revision: revision,
      }),
    ],
  },
})
