import * as fc from 'fast-check'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { administerClient, registerScopes } from './auth-acts.ts'
import { advanceAssessment, requestAssessment } from './assessment-acts.ts'
import { reviewAssessment } from './assessment-review-acts.ts'
import {
  changeConsentType,
  claimReservation,
  correctPatient,
  createConsentType,
  deleteConsentType,
  openCase,
  publishDecision,
  publishText,
  recordConsent,
  registerPatient,
  revokeRegistration,
  type Act,
} from './clinical-acts.ts'
import { recordFindings, reviewFindings, supersedeDiagnoses } from './finding-acts.ts'
import { receiveForeignEvent } from './foreign-acts.ts'
import { guardReview } from './guard-acts.ts'
import { reviewByHuman, setReviewPolicy } from './human-review-acts.ts'
import { declareImage, receiveImage } from './image-acts.ts'
import { sendNotification } from './notification-acts.ts'
import { publishEvent } from './public-acts.ts'
import { advanceReview, takeSlot } from './review-acts.ts'
import { changeRule, setPreferences, suppressAddress } from './setting-acts.ts'
import { Story } from './story.ts'
import { saveTemplate } from './template-acts.ts'
import { employUser, keepAccount, registerPermissions, releaseMembership } from './user-acts.ts'
import { advanceDelivery, changeSubscription, recover, redeliver, subscribe, testSubscription } from './webhook-acts.ts'
import { runWorkflow } from './workflow-acts.ts'

const acts = {
  registerPatient,
  correctPatient,
  revokeRegistration,
  openCase,
  createConsentType,
  changeConsentType,
  deleteConsentType,
  publishText,
  recordConsent,
  publishDecision,
  claimReservation,
  subscribe,
  changeSubscription,
  requestAssessment,
  advanceAssessment,
  reviewAssessment,
  advanceDelivery,
  testSubscription,
  redeliver,
  recover,
  takeSlot,
  advanceReview,
  guardReview,
  recordFindings,
  supersedeDiagnoses,
  reviewFindings,
  declareImage,
  receiveImage,
  administerClient,
  registerScopes,
  saveTemplate,
  sendNotification,
  changeRule,
  setPreferences,
  suppressAddress,
  employUser,
  keepAccount,
  releaseMembership,
  registerPermissions,
  receiveForeignEvent,
  runWorkflow,
  setReviewPolicy,
  reviewByHuman,
  publishEvent,
} satisfies Record<string, Act>

/** One attempted act. An act that is impossible at that moment does nothing. */
export interface Move {
  readonly act: keyof typeof acts
  readonly chance: number
  readonly text: string
}

/** Texts of callers, including text that JSON can express and Postgres cannot store. */
const texts = [
  '',
  'plain',
  'Größe',
  '\u{1F9EA}',
  'a\u0000b',
  '\ud83e alone',
  `it's "quoted" \\ $1`,
  '__proto__',
  'x'.repeat(3_000),
]

/** Acts that lead a story further have a higher weight. */
const weights: Partial<Record<keyof typeof acts, number>> = {
  advanceReview: 10,
  advanceAssessment: 4,
  reviewAssessment: 3,
  advanceDelivery: 4,
  changeSubscription: 2,
  takeSlot: 2,
  publishEvent: 2,
  reviewByHuman: 4,
  publishDecision: 2,
  recordFindings: 3,
  supersedeDiagnoses: 3,
  reviewFindings: 3,
}
const names = Object.keys(acts).filter((name): name is keyof typeof acts => name in acts)

const move: fc.Arbitrary<Move> = fc.record({
  act: fc.constantFrom(...names.flatMap((name) => Array.from({ length: weights[name] ?? 1 }, () => name))),
  chance: fc.nat(0xffff_ffff),
  text: fc.constantFrom(...texts),
})

/** Every history begins with a patient and a receiver, so that most acts of a short history are possible. */
const opening: readonly Move[] = [
  { act: 'registerPatient', chance: 1, text: 'first' },
  { act: 'subscribe', chance: 1, text: 'first' },
]

/** Histories of several organisations as lists of moves. A shorter list is a shorter history. */
export function histories(mostMoves: number): fc.Arbitrary<readonly Move[]> {
  return fc.array(move, { maxLength: mostMoves, size: 'max' })
}

/** Applies the moves. Ids derive from the namespace, a UUID. */
export function storyOf(
  moves: readonly Move[],
  namespace: string,
  options: { readonly hasCodec?: boolean } = {},
): Story {
  const story = new Story(namespace, options)
  for (const { act, chance, text } of [...opening, ...moves]) acts[act](story, new SeededRandom(chance), text)
  return story
}
