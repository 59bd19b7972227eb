import { describe, expect, it } from 'vitest'
import { Type } from 'typebox'
import { v5 } from 'uuid'
import { aiReviewChannel, type AiReviewChannelDependencies } from '../../processes/ai-review/ai-review.channel.ts'
import { assessmentChannel } from '../../processes/assessments/assessments.channel.ts'
import { clinicalChannel } from '../../processes/clinical/clinical.channel.ts'
import { consentChannel } from '../../processes/consent/consent.channel.ts'
import { channels } from '../../processes/registry.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'
import { defineChannel, type Channel, type StateStore } from '../../engine/relay/channel.ts'
import { publicEvents } from '../../engine/relay/envelope.ts'
import { aiReviewFailures } from '../../contracts/ai-review/record.ts'
import { Classification } from '../../streams/ai-review/events.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { FailureCode } from '../../streams/assessment/events.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import type { DomainEvent, RecordedEvent } from '../../engine/store/events.ts'
import { defineEvent } from '../../engine/store/schema.ts'
import { givenImages, lesion, reviewFact } from '../streams/ai-review-facts.ts'
import { assessmentFact, at, caseFact, consentFact, ids, patientFact } from '../streams/facts.ts'
import { erasureFact } from '../streams/patient-erasure-facts.ts'
import { storeOf } from '../support/store-of.ts'

const correlation = v5('correlation', ids.event)

function stored(event: DomainEvent, stream: string): RecordedEvent {
  const metadata = {
    commandId: ids.claim,
    $correlationId: correlation,
    orgId: ids.org,
    schemaVersion: 1,
    signature: '',
  }
  return {
    ...event,
    id: ids.requestEvent,
    stream,
    revision: 4n,
    position: { commit: 9n, prepare: 9n },
    recordedAt: at(40),
    metadata,
  }
}

/** A store with one review; every other stream is empty. */
const deps: AiReviewChannelDependencies & StateStore = {
  store: storeOf([
    { ...reviewFact('AiReviewRequested', givenImages), stream: aiReviews.of(ids.org, ids.review).stream },
  ]),
  objects: { address: (key) => `https://store.example/${key}` },
  configuration: { readUrlTtlSeconds: 600 },
}

/** The events that the relay appends for one fact, each checked against the channel's contract. */
async function published<Deps>(channel: Channel<Deps>, event: RecordedEvent, given: Deps) {
  const outputs = (await channel.translate[event.type]?.(event, given)) ?? []
  const events = publicEvents(channel, event, outputs)
  for (const { type, data } of events) {
    expect(catalogue.entry(type)?.category).toBe(channel.stream)
    expect(catalogue.entry(type)?.refusals(data)).toEqual([])
    expect(JSON.stringify(data).toLowerCase()).not.toContain('canary')
  }
  return events
}

const review = {
  aiReviewId: ids.review,
  caseId: ids.case,
  productId: ids.product,
  orgId: ids.org,
  correlationId: ids.event,
}
const reviewed = (event: DomainEvent) =>
  published(aiReviewChannel, stored(event, aiReviews.of(ids.org, ids.review).stream), deps)

describe('the AI-review channel', () => {
  it('publishes a request for a review with newly signed addresses and the same correlation id', async () => {
    const asked = stored(assessmentFact('AssessmentReviewRequested'), assessments.of(ids.org, ids.assessment).stream)
    const [event, ...more] = await published(aiReviewChannel, asked, deps)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      type: 'ai_review.requested',
      metadata: { source: '9/9', $causationId: ids.requestEvent, $correlationId: correlation, orgId: ids.org },
    })
    expect(event?.data).toMatchObject({
      caseId: ids.case,
      productId: ids.product,
      orgId: ids.org,
      patientId: ids.patient,
      correlationId: correlation,
      requestedAt: at(1),
      occurred_at: at(1),
      event_id: event?.id,
      causation_id: ids.requestEvent,
      hop: 0,
    })
    const keys = assessmentFact('AssessmentReviewRequested').data.images.map(({ objectKey }) => objectKey)
    expect(event?.data).toMatchObject({
      images: [
        {
          imageId: ids.image,
          imageType: 'DERMOSCOPIC',
          objectKey: keys[0],
          presignedUrl: `https://store.example/${keys[0]}`,
          presignedUrlExpiresAt: at(601),
        },
        {
          imageId: ids.secondImage,
          imageType: 'MACROSCOPIC',
          objectKey: keys[1],
          presignedUrl: `https://store.example/${keys[1]}`,
          presignedUrlExpiresAt: at(601),
        },
      ],
    })
  })

  it('publishes that a review started, completed or was cancelled', async () => {
    expect(await reviewed(reviewFact('AiReviewStarted'))).toMatchObject([
      { type: 'ai_review.started', data: { ...review, startedAt: at(3), occurred_at: at(3) } },
    ])
    const [completed] = await reviewed(reviewFact('AiReviewCompleted'))
    const result = {
      occurred_at: reviewFact('AiReviewCompleted').data.completedAt,
      assessedByProviderVersion: '4.2',
      reportDate: at(17),
      analysisResult: 'SUCCESSFUL_PROCESSING',
      lesions: [lesion],
      aiProvider: 'inference-provider',
    }
    expect(completed).toMatchObject({
      type: 'ai_review.completed',
      data: { ...review, ...result, imageQuality: reviewFact('AiReviewCompleted').data.imageQuality },
    })
    expect(JSON.stringify(completed)).not.toContain('raw-responses')
    const [cancelled] = await reviewed(reviewFact('AiReviewCancelled'))
    expect(cancelled).toMatchObject({
      type: 'ai_review.cancelled',
      data: { ...review, reason: 'consent_withdrawn', cancelledAt: at(14), occurred_at: at(14) },
    })
  })

  it('publishes the successor of a superseded review, and the reason if there is one', async () => {
    const superseded = {
      oldAiReviewId: ids.review,
      newAiReviewId: ids.newReview,
      caseId: ids.case,
      productId: ids.product,
      orgId: ids.org,
      supersededAt: at(15),
    }
    expect(await reviewed(reviewFact('AiReviewSuperseded'))).toMatchObject([
      { type: 'ai_review.superseded', data: { ...superseded, reason: 'expired addresses' } },
    ])
    const [silent] = await reviewed(reviewFact('AiReviewSuperseded', { reason: null }))
    expect(silent).toMatchObject({ type: 'ai_review.superseded', data: superseded })
    expect(silent?.data).not.toHaveProperty('reason')
  })

  it.each([
    ['image_fetch_failed', 3594.999, false],
    ['image_fetch_failed', 3595, true],
    ['image_fetch_failed', 3600, true],
    ['provider_client_error', 7200, false],
  ] as const)(
    'publishes a failure with %s after %d s, and whether the addresses had expired: %s',
    async (classification, seconds, addressesExpired) => {
      expect(await reviewed(reviewFact('AiReviewFailed', { classification, failedAt: at(seconds) }))).toMatchObject([
        { data: { addressesExpired } },
      ])
    },
  )

  it.each([1, 2, 3])(
    'publishes that the addresses of another service had expired, which came with the start (%s events cached)',
    async (cached) => {
      const { stream } = aiReviews.of(ids.org, ids.review)
      const failed = reviewFact('AiReviewFailed', { classification: 'image_fetch_failed', failedAt: at(3600) })
      const story = [
        reviewFact('AiReviewRequested', { ...givenImages, patientId: null, addresses: null }),
        reviewFact('AiReviewStarted', { addresses: givenImages.addresses }),
        failed,
      ]
      const store = storeOf(
        story.map((event) => ({ ...event, stream })),
        cached,
      )
      expect(await published(aiReviewChannel, stored(failed, stream), { ...deps, store })).toMatchObject([
        { data: { addressesExpired: true } },
      ])
    },
  )

  it.each(Classification.enum)('publishes that a review failed with %s, with a fixed text', async (classification) => {
    const { message, retriable } = aiReviewFailures[classification]
    const error = {
      errorCode: classification,
      errorClassification: classification,
      errorMessage: message,
      retriable,
      addressesExpired: false,
    }
    expect(await reviewed(reviewFact('AiReviewFailed', { classification }))).toMatchObject([
      { type: 'ai_review.failed', data: { ...review, ...error } },
    ])
  })

  it('publishes nothing between start and end', async () => {
    for (const type of [
      'AiReviewRequested',
      'AiReviewCallAttempted',
      'AiReviewProviderCaseCreated',
      'AiReviewImageSent',
      'AiReviewPollDeferred',
    ] as const) {
      expect(await reviewed(reviewFact(type))).toEqual([])
    }
  })

  it('reads the organisation from the stream if the metadata lacks it', async () => {
    const started = stored(reviewFact('AiReviewStarted'), aiReviews.of(ids.org, ids.review).stream)
    const { orgId: _, ...metadata } = started.metadata
    const [event] = await published(aiReviewChannel, { ...started, metadata }, deps)
    expect(event?.data).toMatchObject({ orgId: ids.org })
  })

  it('stops at an event of a review that was never requested', async () => {
    const orphan = stored(reviewFact('AiReviewStarted'), aiReviews.of(ids.org, ids.event).stream)
    await expect(published(aiReviewChannel, orphan, deps)).rejects.toThrow('lacks the events before it')
  })
})

describe('the assessment channel', () => {
  const stream = assessments.of(ids.org, ids.assessment).stream
  const ended = { org_id: ids.org, assessment_id: ids.assessment, patient_id: ids.patient, product_id: ids.product }
  const submitted = [assessmentFact('AssessmentRequested'), assessmentFact('AssessmentSubmitted')]
  const publishedFor = (story: readonly DomainEvent[], last: DomainEvent, cached?: number) =>
    published(
      assessmentChannel,
      { ...stored(last, stream), revision: BigInt(story.length) },
      {
        store: storeOf(
          [...story, last].map((event) => ({ ...event, stream })),
          cached,
        ),
      },
    )

  it.each([undefined, 0, 1])(
    'publishes that an assessment completed, without its result (%s events cached)',
    async (cached) => {
      const completed = assessmentFact('AssessmentCompleted')
      const [event, ...more] = await publishedFor(submitted, completed, cached)
      expect(more).toEqual([])
      expect(event).toMatchObject({ type: 'assessment.completed', metadata: { source: '9/9' } })
      const { completedAt } = completed.data
      expect(event?.data).toEqual({
        ...ended,
        case_id: ids.case,
        status: 'completed',
        error_code: null,
        ended_at: completedAt,
        ...enveloped('assessment.completed', event?.id, completedAt),
      })
    },
  )

  it.each(FailureCode.enum)('publishes that an assessment failed with %s', async (code) => {
    const failed = assessmentFact('AssessmentFailed', { code })
    const [event, ...more] = await publishedFor(submitted, failed)
    expect(more).toEqual([])
    const { failedAt } = failed.data
    expect(event?.data).toEqual({
      ...ended,
      case_id: ids.case,
      status: 'failed',
      error_code: code,
      ended_at: failedAt,
      ...enveloped('assessment.failed', event?.id, failedAt),
    })
  })

  it.each([undefined, 2, 4])('publishes the decision of the human review (%s events cached)', async (cached) => {
    const decided = assessmentFact('AssessmentHumanReviewDecided')
    const reviewed = async (end: DomainEvent) =>
      (await publishedFor([...submitted, end, assessmentFact('AssessmentHumanReviewOpened')], decided, cached)).map(
        ({ type, data }) => ({ type, data }),
      )
    const { decidedAt, agreesWithAi } = decided.data
    const data = {
      ...ended,
      case_id: ids.case,
      task_id: ids.task,
      ai_review_id: ids.review,
      agrees_with_ai: agreesWithAi,
      decided_at: decidedAt,
      ...enveloped('assessment.reviewed', ids.requestEvent, decidedAt),
    }
    const { completedAt } = assessmentFact('AssessmentCompleted').data
    const type = 'assessment.reviewed'
    expect(await reviewed(assessmentFact('AssessmentCompleted'))).toEqual([
      {
        type,
        data: { ...data, event_id: expect.any(String), status: 'completed', error_code: null, ended_at: completedAt },
      },
    ])
    const failed = assessmentFact('AssessmentFailed', { code: 'IMAGE_QUALITY_INSUFFICIENT' })
    expect(await reviewed(failed)).toMatchObject([
      { type, data: { status: 'failed', error_code: 'IMAGE_QUALITY_INSUFFICIENT', ended_at: failed.data.failedAt } },
    ])
  })

  it.each(['AssessmentHumanReviewOpened', 'AssessmentHumanReviewCancelled'] as const)(
    'publishes nothing for %s',
    async (type) => {
      expect(await publishedFor([...submitted, assessmentFact('AssessmentCompleted')], assessmentFact(type))).toEqual(
        [],
      )
    },
  )

  it('publishes no case id for an assessment whose images were never submitted', async () => {
    const awaiting = [
      assessmentFact('AssessmentRequested', { mode: 'slot' }),
      assessmentFact('AssessmentUploadsAwaited'),
    ]
    expect(
      await publishedFor(awaiting, assessmentFact('AssessmentFailed', { code: 'UPLOAD_WINDOW_EXPIRED' })),
    ).toMatchObject([{ data: { case_id: null } }])
  })

  it('publishes nothing before the end, and stops at an assessment that was never requested', async () => {
    for (const type of [
      'AssessmentRequested',
      'AssessmentUploadsAwaited',
      'AssessmentSubmitted',
      'AssessmentReviewRequested',
      'AssessmentReviewRenewed',
    ] as const) {
      expect(await publishedFor([], assessmentFact(type))).toEqual([])
    }
    await expect(publishedFor([], assessmentFact('AssessmentCompleted'))).rejects.toThrow('lacks the events before it')
  })
})

describe('the channel of clinical records', () => {
  const finding = caseFact('CaseFindingRecorded').data
  const publishedFor = async (event: DomainEvent, stream: string) =>
    published(clinicalChannel, stored(event, stream), { store: storeOf([]) })

  it.each([
    [
      'clinical.patient.registered',
      patientFact('PatientRegistered'),
      { patient_id: ids.patient, registered_at: at(0) },
    ],
    ['clinical.patient.corrected', patientFact('PatientCorrected'), { patient_id: ids.patient, corrected_at: at(5) }],
    [
      'clinical.patient.revoked',
      patientFact('PatientRegistrationRevoked'),
      { patient_id: ids.patient, revoked_at: at(1) },
    ],
    ['clinical.patient.erased', erasureFact('SubjectErased'), { patient_id: ids.patient, erased_at: at(20) }],
    [
      'clinical.case.opened',
      caseFact('CaseOpened'),
      {
        case_id: ids.case,
        patient_id: ids.patient,
        product_id: ids.product,
        assessment_id: ids.assessment,
        opened_at: at(0),
      },
    ],
    [
      'clinical.case.opened',
      caseFact('CaseOpened', { productId: null, assessmentId: null }),
      { case_id: ids.case, patient_id: ids.patient, product_id: null, assessment_id: null, opened_at: at(0) },
    ],
    [
      'clinical.case.opened',
      caseFact('CaseOpened', {
        workflow: {
          workflowInstanceId: ids.workflowInstance,
          workflowDefinitionId: ids.workflowDefinition,
          definitionVersion: 3,
        },
      }),
      {
        case_id: ids.case,
        patient_id: ids.patient,
        product_id: ids.product,
        assessment_id: ids.assessment,
        workflow_instance_id: ids.workflowInstance,
        workflow_definition_id: ids.workflowDefinition,
        workflow_definition_version: 3,
        opened_at: at(0),
      },
    ],
    ['clinical.case.closed', caseFact('CaseClosed'), { case_id: ids.case, patient_id: ids.patient, closed_at: at(40) }],
    [
      'clinical.finding.recorded',
      caseFact('CaseFindingRecorded'),
      {
        finding_id: ids.finding,
        case_id: ids.case,
        ai_review_id: ids.review,
        lesion_number: 1,
        recorded_at: finding.recordedAt,
      },
    ],
    [
      'clinical.diagnosis.recorded',
      caseFact('CaseDiagnosisRecorded'),
      {
        diagnosis_id: ids.diagnosis,
        finding_id: ids.finding,
        case_id: ids.case,
        ai_review_id: ids.review,
        source: 'ai',
        task_id: null,
        recorded_at: finding.recordedAt,
      },
    ],
    [
      'clinical.diagnosis.recorded',
      caseFact('CaseDiagnosisRecorded', {
        diagnosisId: ids.clinicianDiagnosis,
        source: 'clinician',
        taskId: ids.task,
        recordedAt: at(90),
      }),
      {
        diagnosis_id: ids.clinicianDiagnosis,
        finding_id: ids.finding,
        case_id: ids.case,
        ai_review_id: ids.review,
        source: 'clinician',
        task_id: ids.task,
        recorded_at: at(90),
      },
    ],
    [
      'clinical.diagnosis.superseded',
      caseFact('CaseDiagnosisSuperseded', { supersededById: ids.task, taskId: ids.task }),
      {
        diagnosis_id: ids.diagnosis,
        finding_id: ids.finding,
        case_id: ids.case,
        ai_review_id: ids.review,
        source: 'ai',
        task_id: ids.task,
        superseded_by_id: ids.task,
        superseded_at: caseFact('CaseDiagnosisSuperseded').data.supersededAt,
      },
    ],
    [
      'clinical.diagnosis.superseded',
      caseFact('CaseDiagnosisSuperseded'),
      {
        diagnosis_id: ids.diagnosis,
        finding_id: ids.finding,
        case_id: ids.case,
        ai_review_id: ids.review,
        source: 'ai',
        task_id: null,
        superseded_by_id: ids.newReview,
        superseded_at: caseFact('CaseDiagnosisSuperseded').data.supersededAt,
      },
    ],
  ])('publishes %s with only ids', async (type, fact, members) => {
    const stream = fact.type.startsWith('Patient')
      ? patients.of(ids.org, ids.patient).stream
      : cases.of(ids.org, ids.case).stream
    const [event, ...more] = await publishedFor(fact, stream)
    const instant = Object.entries(members).find(([name]) => name.endsWith('_at'))?.[1]
    expect(more).toEqual([])
    expect(event).toMatchObject({ type, metadata: { source: '9/9', $causationId: ids.requestEvent } })
    expect(event?.data).toEqual({ org_id: ids.org, ...members, ...enveloped(type, event?.id, instant) })
  })
})

/** With the instant of the domain event. */
function enveloped(type: string, id: string | undefined, instant: unknown) {
  return {
    event_id: id,
    event_type: type,
    occurred_at: instant,
    schema_version: 1,
    causation_id: ids.requestEvent,
    correlation_id: correlation,
    hop: 0,
  }
}

describe('the consent channel', () => {
  it.each(['granted', 'denied', 'withdrawn'] as const)('publishes %s, without the person', async (decision) => {
    const recorded = stored(
      consentFact('ConsentRecorded', { decision, recordedAt: at(-60) }),
      consents.of(ids.org, ids.patient).stream,
    )
    const [event, ...more] = await published(consentChannel, recorded, { store: storeOf([]) })
    expect(more).toEqual([])
    const type = `consent.${decision}`
    const payload = {
      type,
      patient_id: ids.patient,
      org_id: ids.org,
      consent_type_code: 'ai_analysis',
      timestamp: at(-60),
    }
    expect(event).toMatchObject({ type, data: { ...payload, event_type: type, occurred_at: at(0) } })
  })
})

describe('a channel', () => {
  it('names the version that its stream declares for the payload of an event', async () => {
    const schema = publicData({ patient_id: Type.String() })
    const decided = defineEvent('note.decided', schema, { version: 2, upcasters: { 1: (data) => data } })
    const stream = defineChannelStream({ name: 'note.events', events: { decided }, organisationMember: null })
    const channel = defineChannel({
      stream,
      sources: [consents],
      translate: {
        ConsentRecorded: ({ data }, publish) => [
          publish('note.decided', data.recordedAt, { patient_id: data.patientId }),
        ],
      },
    })
    const event = stored(consentFact('ConsentRecorded', {}), consents.of(ids.org, ids.patient).stream)
    const outputs = (await channel.translate[event.type]?.(event, deps)) ?? []
    expect(publicEvents(channel, event, outputs).map(({ data }) => data)).toMatchObject([{ schema_version: 2 }])
  })
})

describe('the registry of channels', () => {
  it('translates events that exist, from the categories that it draws on, into every event of the contract', () => {
    for (const { stream, sources, translate } of channels) {
      expect(catalogue.categories).toContain(stream)
      for (const type of Object.keys(translate)) expect(sources).toContain(`${catalogue.entry(type)?.category}-`)
    }
    expect(new Set(channels.map(({ stream }) => stream)).size).toBe(channels.length)
  })
})

it('rules of notifications see the events of every channel', () => {
  expect(new Set(channelStreams.map(({ name }) => name))).toEqual(new Set(channels.map(({ stream }) => stream)))
})
