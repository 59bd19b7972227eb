import { describe, expect, it } from 'vitest'
import {
  imageIdsToRead,
  outputErrors,
  type ImagesOfCase,
  type Output,
} from '../../../commands/workflows/output-errors.ts'
import { isCollecting, type WorkflowStep } from '../../../streams/workflow-definition/steps.ts'
import { photos, questions, questionsOfEachType, to } from './graphs.ts'

const [one, two, three] = [1, 2, 3].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`)
const images: ImagesOfCase = new Map([
  [one ?? '', { captureType: 'dermoscopic' as const }],
  [two ?? '', { captureType: 'dermoscopic' as const }],
  [three ?? '', { captureType: 'macroscopic' as const }],
])

function faults(step: WorkflowStep, output: Output): string[] {
  if (!isCollecting(step)) throw new Error('the step collects nothing')
  return outputErrors(step, output, images).map(({ pointer, code }) => `${pointer} ${code}`)
}

const asked = questions('q', to('end'))
const answering = (answers: unknown) => faults(asked, { answers })
const pointer = '/output/answers'

describe('answers', () => {
  it('have the type of their question, or are left out', () => {
    expect(answering({})).toEqual([])
    expect(answering({ text: '', number: 0, boolean: false, date: '2024-02-29', choice: 'b' })).toEqual([])
    expect(answering({ text: 'x'.repeat(10_000) })).toEqual([])
  })

  it.each([
    ['text', 1],
    ['text', null],
    ['number', '1'],
    ['boolean', 0],
    ['date', '2026-02-29'],
    ['date', '2026-2-1'],
    ['date', '2026-02-01T00:00:00Z'],
    ['choice', 'c'],
    ['choice', 1],
  ])('of another type are refused: %s %s', (id, value) => {
    expect(answering({ [id]: value })).toEqual([`${pointer}/${id} wrong-type`])
  })

  it('to required questions are not left out', () => {
    const required = questions(
      'q',
      to('end'),
      questionsOfEachType.map((question) => ({ ...question, required: true })),
    )
    expect(faults(required, { answers: { number: 1, date: '2026-01-01' } })).toEqual([
      `${pointer}/text required`,
      `${pointer}/boolean required`,
      `${pointer}/choice required`,
    ])
  })

  it('are refused without a name of the caller in the pointer', () => {
    expect(answering({ 'Jane Doe': 'x' })).toEqual([`${pointer} unknown-question`])
    expect(faults(asked, { answers: {}, more: 1 })).toEqual(['/output unknown-member'])
    expect(faults(asked, {})).toEqual([`${pointer} required`])
    for (const wrong of [[], 'text', 1, null]) expect(answering(wrong)).toEqual([`${pointer} type`])
  })

  it('are limited in length, size and depth', () => {
    expect(answering({ text: 'x'.repeat(10_001) })).toEqual([`${pointer}/text max-length`])
    expect(answering({ text: 'x'.repeat(65_536) })).toEqual(['/output too-large'])
    let deep: unknown = 1
    for (let level = 0; level < 16; level += 1) deep = [deep]
    expect(answering(deep)).toEqual(['/output too-deep'])
  })
})

describe('images', () => {
  const step = photos('p', to('end'))
  const taking = (image_ids: unknown) => faults(step, { image_ids })
  const list = '/output/image_ids'

  it('are received ones of the case, of an allowed kind and number', () => {
    expect(taking([one, two])).toEqual([])
    expect(taking([])).toEqual([`${list} min-items`])
    expect(taking([one, two, three])).toEqual([`${list} max-items`])
    expect(taking([one, one])).toEqual([`${list} unique-items`])
    expect(taking([one, '00000000-0000-4000-8000-000000000009'])).toEqual([`${list}/1 unknown-image`])
    expect(taking([three])).toEqual([`${list}/0 wrong-capture-type`])
  })

  it('are not read if there are more than the step takes', () => {
    expect(imageIdsToRead(step, { image_ids: [one, two] })).toEqual([one, two])
    expect(imageIdsToRead(step, { image_ids: [one, two, three] })).toEqual([])
    expect(imageIdsToRead(asked, { image_ids: [one] })).toEqual([])
  })

  it('are named in a list of ids', () => {
    for (const wrong of ['x', [1], ['x'], {}, null]) expect(taking(wrong)).toEqual([`${list} type`])
    expect(faults(step, {})).toEqual([`${list} required`])
    expect(faults(step, { image_ids: [one], answers: {} })).toEqual(['/output unknown-member'])
  })
})
