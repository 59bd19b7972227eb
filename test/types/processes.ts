/**
 * Mistakes that must not compile. `tsc` fails on an `@ts-expect-error` line without an error, so each line is a test.
 */
import { Type, type Static } from 'typebox'
import { rowsOf, tableOf } from '../../engine/reads/tenant-rows.ts'
import { defineChannel } from '../../engine/relay/channel.ts'
import { defineProcess, keyedStep, Nothing, step, type Todo } from '../../engine/processes/define-process.ts'
import type { StepOutcome } from '../../engine/processes/process.ts'
import { defineTable } from '../../engine/projections/projector.ts'
import { assessments, hasEnded } from '../../streams/assessment/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { consentChannelStream } from '../../streams/channels/consent.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import type { ConsentEvent } from '../../streams/consent/events.ts'

const RemindPayload = Type.Object({ patientId: Type.String(), attempt: Type.Integer() })

interface Deps {
  readonly send: (text: string) => Promise<void>
}

async function remind(todo: Todo<Static<typeof RemindPayload>>, { send }: Deps): Promise<StepOutcome> {
  await send(`${todo.payload.patientId} ${todo.payload.attempt}`)
  return { kind: 'done' }
}

const patientsTable = defineTable({
  name: 'patients',
  columns: { patient_id: 'text', org_id: 'text', visits: 'integer' },
  primaryKey: ['patient_id'],
})

const steps = {
  remind: step(RemindPayload, remind),
  forget: step(Nothing, async () => ({ kind: 'done' })),
  call: keyedStep(Nothing, async () => ({ kind: 'done' })),
}

// @ts-expect-error the rows of this step lack the payload that its function reads
export const withoutPayload = step(Nothing, remind)

const process = defineProcess<ConsentEvent, Deps>()
const planted = { name: 'planted', version: 1, steps }
const at = '2026-01-01T00:00:00.000Z'

export const scheduled = process({
  ...planted,
  on: {
    ConsentRecorded: ({ data: { patientId, consentId } }, todo) => [
      todo.schedule('remind', patientId, { at, payload: { patientId, attempt: 1 } }),
      todo.schedule('forget', patientId, { at, existing: 'replace' }),
      todo.schedule('call', patientId, { at, concurrencyKey: consentId }),
      // @ts-expect-error the process has no such step
      todo.schedule('remnd', patientId, { at }),
      // @ts-expect-error the step needs a payload
      todo.schedule('remind', patientId, { at }),
      // @ts-expect-error a member of the payload is missing
      todo.schedule('remind', patientId, { at, payload: { patientId } }),
      // @ts-expect-error a member of the payload is of another type
      todo.schedule('remind', patientId, { at, payload: { patientId, attempt: '1' } }),
      // @ts-expect-error the step takes no payload
      todo.schedule('forget', patientId, { at, payload: { patientId } }),
      // @ts-expect-error the step calls a receiver, so its rows have a concurrency key
      todo.schedule('call', patientId, { at }),
      // @ts-expect-error the process has no such step
      todo.clear(patientId, 'remnd'),
      // @ts-expect-error the payload of the step has no such member
      todo.clearWhere('remind', { payload: { patient: patientId } }),
    ],
  },
})

export const scheduledForEach = process({
  ...planted,
  lookups: [patientsTable],
  on: {
    ConsentRecorded: ({ data: { patientId } }, todo) => [
      todo.scheduleForEach('remind', patientsTable, { patientId }, (patient) => ({
        key: patient('patientId'),
        at,
        payload: { patientId: patient('patientId'), attempt: patient('visits') },
      })),
      // @ts-expect-error the lookup has no such column
      todo.scheduleForEach('forget', patientsTable, { patient: patientId }, () => ({ key: patientId, at })),
      // @ts-expect-error the lookup has no such column
      todo.scheduleForEach('forget', patientsTable, { patientId }, (patient) => ({ key: patient('patient'), at })),
      // @ts-expect-error a column of numbers is no key
      todo.scheduleForEach('forget', patientsTable, { patientId }, (patient) => ({ key: patient('visits'), at })),
    ],
  },
})

/** A table or column that is renamed fails like these, also in the queries of the health report. */
export function ownTables() {
  const p = tableOf(scheduledForEach.list, patientsTable, 'p')
  const patients = rowsOf(p).where(p.visits, 1)
  // @ts-expect-error an unknown column
  patients.groupBy(p.patient)
  // @ts-expect-error a value of another type
  patients.where(p.visits, 'many')
  // @ts-expect-error a table that the process does not have
  tableOf(scheduled.list, patientsTable, 'p')
}

export const unknownEvent = process({
  ...planted,
  on: {
    // @ts-expect-error the process gets no such event
    ConsentRecorder: () => [],
  },
})

export const otherDependencies = defineProcess<ConsentEvent, { readonly post: () => void }>()({
  ...planted,
  // @ts-expect-error the step needs other dependencies
  steps,
  on: {},
})

export const channel = defineChannel({
  stream: consentChannelStream,
  sources: [consents],
  translate: {
    ConsentRecorded: ({ data: { patientId, consentTypeCode, recordedAt } }, publish) => {
      const decided = { patient_id: patientId, consent_type_code: consentTypeCode, timestamp: recordedAt }
      return [
        publish('consent.granted', recordedAt, { type: 'consent.granted', ...decided }),
        // @ts-expect-error the channel has no such event
        publish('consent.grant', recordedAt, { type: 'consent.granted', ...decided }),
        // @ts-expect-error a member is of another event
        publish('consent.granted', recordedAt, { type: 'consent.denied', ...decided }),
        // @ts-expect-error a member is missing
        publish('consent.granted', recordedAt, { type: 'consent.granted', patient_id: patientId }),
        // @ts-expect-error the relay adds the envelope
        publish('consent.granted', recordedAt, { type: 'consent.granted', ...decided, hop: 0 }),
      ]
    },
    // @ts-expect-error the sources have no such event
    ConsentRecorder: () => [],
  },
})

export const loading = defineChannel({
  stream: assessmentChannelStream,
  sources: [assessments, consents],
  translate: {
    AssessmentCompleted: async ({ data }, publish, state) => {
      const ids = { assessment_id: data.assessmentId, patient_id: '', product_id: '', case_id: '', error_code: null }
      const { status, tasks } = await state(hasEnded)
      // @ts-expect-error an assessment that has not ended has no tasks
      const { tasks: none } = await state()
      // @ts-expect-error the state is that of an assessment, not of a consent
      const { keyed } = await state()
      const ended_at = String([tasks, none, keyed])
      return status === 'failed' ? [] : [publish('assessment.completed', ended_at, { ...ids, status, ended_at })]
    },
  },
})

export const wrongMember = defineChannel({
  stream: consentChannelStream,
  sources: [consents],
  translate: {
    // @ts-expect-error the event has no such member
    ConsentRecorded: ({ data: { decisions } }) => decisions,
  },
})
