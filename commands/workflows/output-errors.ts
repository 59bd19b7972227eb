import { isUuid } from '../../platform/http/formats.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import type { CaptureType } from '../../streams/assessment/events.ts'
import type {
  CollectingStep,
  ImagesConfig,
  Question,
  QuestionsConfig,
  WorkflowStep,
} from '../../streams/workflow-definition/steps.ts'
import type { Static } from 'typebox'
import { sizeErrors } from '../clinical/bodies.ts'
import { formOf, isAnswerTo } from './condition-errors.ts'

export type Output = Readonly<Record<string, unknown>>
/** The received images of the case, among those that the output names. */
export type ImagesOfCase = ReadonlyMap<string, { readonly captureType: Static<typeof CaptureType> }>

/** Characters of an answer. */
export const mostText = 10_000

/**
 * Errors of an output, by the schema that follows from the step's `config`. Pointers contain only names of the
 * definition. Other names come from the caller and may contain personal data, so no error repeats them.
 */
export function outputErrors(step: CollectingStep, output: Output, images: ImagesOfCase): MemberError[] {
  const tooLarge = sizeErrors(output, '/output')
  if (tooLarge.length > 0) return tooLarge
  const member = step.kind === 'collect-questions' ? 'answers' : 'image_ids'
  const errors: MemberError[] = []
  if (Object.keys(output).some((name) => name !== member))
    errors.push({ pointer: '/output', detail: `takes the member ${member} only`, code: 'unknown-member' })
  const own =
    step.kind === 'collect-questions' ? answerErrors(step.config, output) : imageErrors(step.config, output, images)
  return [...errors, ...own]
}

function answerErrors({ questions }: QuestionsConfig, { answers }: Output): MemberError[] {
  const pointer = '/output/answers'
  if (answers === undefined) return [{ pointer, detail: 'is required', code: 'required' }]
  if (!isObject(answers)) return [{ pointer, detail: 'must be object', code: 'type' }]
  const declared = new Set(questions.map(({ id }) => id))
  const isForeign = Object.keys(answers).some((id) => !declared.has(id))
  const foreign = {
    pointer,
    detail: 'has an answer to a question that the step does not ask',
    code: 'unknown-question',
  }
  const own = questions.flatMap((question) => {
    const answer = Object.hasOwn(answers, question.id) ? answers[question.id] : undefined
    const error = errorOfAnswer(question, answer)
    return error === undefined ? [] : [{ pointer: `${pointer}/${question.id}`, ...error }]
  })
  return isForeign ? [foreign, ...own] : own
}

function errorOfAnswer(question: Question, answer: unknown): Omit<MemberError, 'pointer'> | undefined {
  if (answer === undefined) return question.required ? { detail: 'is required', code: 'required' } : undefined
  if (!isAnswerTo(question, answer)) return { detail: `must be ${formOf(question)}`, code: 'wrong-type' }
  const isTooLong = question.type === 'text' && typeof answer === 'string' && answer.length > mostText
  return isTooLong ? { detail: 'must NOT have more than 10000 characters', code: 'max-length' } : undefined
}

function imageErrors(config: ImagesConfig, output: Output, images: ImagesOfCase): MemberError[] {
  const pointer = '/output/image_ids'
  const given = output['image_ids']
  if (given === undefined) return [{ pointer, detail: 'is required', code: 'required' }]
  if (!isListOfIds(given)) return [{ pointer, detail: 'must be a list of image ids', code: 'type' }]
  const { min, max, capture_types: captureTypes } = config
  if (given.length < min) return [{ pointer, detail: `must have at least ${min} images`, code: 'min-items' }]
  if (given.length > max) return [{ pointer, detail: `must have at most ${max} images`, code: 'max-items' }]
  if (new Set(given).size < given.length)
    return [{ pointer, detail: 'must not have the same item twice', code: 'unique-items' }]
  return given.flatMap((id, index) => {
    const image = images.get(id)
    const place = `${pointer}/${index}`
    if (image === undefined)
      return [{ pointer: place, detail: 'is not a received image of the case', code: 'unknown-image' }]
    if (captureTypes.includes(image.captureType)) return []
    return [{ pointer: place, detail: `must be one of ${captureTypes.join(', ')}`, code: 'wrong-capture-type' }]
  })
}

/** Ids whose images decide about the output. More than the step takes are refused without reading them. */
export function imageIdsToRead(step: WorkflowStep, output: Output): readonly string[] {
  if (step.kind !== 'collect-images') return []
  const ids = imageIdsIn(output)
  return ids.length > step.config.max ? [] : ids
}

/** Ids in an output of images, as far as it has the right form. */
export function imageIdsIn({ image_ids: given }: Output): readonly string[] {
  return isListOfIds(given) ? given : []
}

function isListOfIds(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((id) => typeof id === 'string' && isUuid(id))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
