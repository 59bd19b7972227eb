import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { concludeAssessment, unsuitableQuality } from '../../../commands/assessments/conclude-assessment.ts'
import { outcomeOf, scoringVersion } from '../../../commands/assessments/outcome-mapping.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { Recommendation, type Outcome } from '../../../streams/assessment/events.ts'
import type { Lesion } from '../../../streams/ai-review/events.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

type Graded = readonly [score: number, recommendation: Outcome['recommendation'], basis: string]

const urgent: Graded = [0.95, 'urgent_referral', 'malignant_urgent']
const malignant: Graded = [0.8, 'refer', 'malignant']
const referred: Graded = [0.6, 'refer', 'referral_flag']
const category: Graded = [0.5, 'inconclusive', 'category_unknown']
const flag: Graded = [0.4, 'inconclusive', 'referral_flag_unknown']
const followUp: Graded = [0.3, 'routine_follow_up', 'follow_up_flag']
const benign: Graded = [0.1, 'no_action', 'benign']
const none: Graded = [0, 'inconclusive', 'no_lesion_found']

const flags = [
  ['urgent', ['URGENT_REFERRAL', 'urgent', 'Urgent referral', 'SEMI_URGENT']],
  [
    'refer',
    [
      'REFER',
      'referral',
      'yes',
      'NON_URGENT',
      'non-urgent referral',
      'REFER_ROUTINE',
      'NOT_URGENT',
      'NO_URGENT_REFERRAL',
      'nonurgent',
    ],
  ],
  ['follow-up', ['FOLLOW_UP', 'follow-up in 3 months']],
  ['none', [null, '', ' ', 'NO_REFERRAL', 'no', 'None', 'NOT_REQUIRED']],
  ['unknown', ['MAYBE', '2', 'DISCUSS_AT_BOARD']],
] as const
const categories = [
  ['malignant', ['Malignant', 'MALIGNANT', ' malignant ']],
  ['benign', ['Benign', 'benign']],
  ['other', ['Premalignant', 'other', 'not malignant', 'Non-Benign', '', null]],
] as const

const table: Readonly<Record<(typeof categories)[number][0], Readonly<Record<(typeof flags)[number][0], Graded>>>> = {
  malignant: { urgent, refer: malignant, 'follow-up': malignant, none: malignant, unknown: malignant },
  benign: { urgent: referred, refer: referred, 'follow-up': followUp, none: benign, unknown: flag },
  other: { urgent: referred, refer: referred, 'follow-up': category, none: category, unknown: category },
}
const rows = categories.flatMap(([kind, names]) =>
  names.flatMap((name) =>
    flags.flatMap(([meaning, texts]) => texts.map((text) => ({ name, text, graded: table[kind][meaning] }))),
  ),
)

const found = (name: string | null, text: string | null, lesionNumber = 1): Lesion => ({
  ...lesion,
  lesionNumber,
  category: name,
  referralFlag: text,
})
const gradeOf = ({ malignancy_score, recommendation, score_basis }: Outcome): Graded => [
  malignancy_score,
  recommendation,
  score_basis,
]
const representatives = [
  found('Malignant', 'URGENT_REFERRAL'),
  found('Malignant', null),
  found('Benign', 'REFER'),
  found('other', null),
  found('Benign', 'MAYBE'),
  found('Benign', 'FOLLOW_UP'),
  found('Benign', null),
]

describe('the outcome of one lesion', () => {
  it.each(rows)('of category $name with flag $text', ({ name, text, graded }) => {
    const outcome = outcomeOf([found(name, text)], [])
    expect(gradeOf(outcome)).toEqual(graded)
    expect(outcome.scoring_version).toBe(scoringVersion)
    expect(Recommendation.enum).toContain(outcome.recommendation)
  })
})

describe('the outcome of several lesions', () => {
  it('is that of the most severe, in any order', () => {
    for (const [index, worst] of representatives.entries()) {
      for (const other of representatives.slice(index)) {
        expect(gradeOf(outcomeOf([worst, other], []))).toEqual(gradeOf(outcomeOf([worst], [])))
        expect(gradeOf(outcomeOf([other, worst, other], []))).toEqual(gradeOf(outcomeOf([worst], [])))
      }
    }
  })

  it('scores each grade lower than the more severe one before it, from 0 to 1', () => {
    const scores = [...representatives.map((each) => outcomeOf([each], [])), outcomeOf([], [])].map(
      ({ malignancy_score }) => malignancy_score,
    )
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(new Set(scores).size).toBe(scores.length)
    expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true)
  })

  it('is inconclusive without lesions, and contains each lesion with its codes', () => {
    expect(gradeOf(outcomeOf([], []))).toEqual(none)
    const { lesions } = outcomeOf([found('Benign', null, 1), found('Malignant', null, 2)], [])
    expect(lesions.map(({ lesion_number, category: name }) => [lesion_number, name])).toEqual([
      [1, 'Benign'],
      [2, 'Malignant'],
    ])
    expect(lesions[0]).toMatchObject({
      icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' },
      snomed: { code: '400010006' },
      referral_flag: null,
    })
  })
})

describe('image quality', () => {
  const processing = [assessmentFact('AssessmentRequested'), assessmentFact('AssessmentSubmitted')] as const
  const conclude = (each: Lesion, quality: string | null) => {
    const imageQuality = [
      { imageId: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' },
      { imageId: ids.secondImage, quality },
    ]
    const end = { kind: 'completed', aiProvider: 'inference-provider', lesions: [each], imageQuality } as const
    const command = { aiReviewId: ids.review, end, now: new Date(at(30)) }
    return concludeAssessment(command, given(assessments, ...processing).state)
  }

  it.each(['IMAGE_QUALITY_SUITABLE', 'SOMETHING_NEW', '', null])('%s is reported, with every grade', (quality) => {
    for (const each of representatives) {
      expect(conclude(each, quality)).toEqual([expect.objectContaining({ type: 'AssessmentCompleted' })])
      const reported = outcomeOf([each], [{ imageId: ids.image, quality }])
      expect(reported.image_quality).toEqual([{ image_id: ids.image, quality }])
    }
  })

  it('that is unsuitable in one image fails the assessment, for every grade', () => {
    for (const each of representatives) {
      expect(conclude(each, unsuitableQuality)).toEqual([
        expect.objectContaining({
          type: 'AssessmentFailed',
          data: expect.objectContaining({ code: 'IMAGE_QUALITY_INSUFFICIENT' }),
        }),
      ])
    }
  })
})

describe('docs/outcome-mapping.md', () => {
  it('contains the same table and version as the code', async () => {
    const text = await readFile(new URL('../../../docs/outcome-mapping.md', import.meta.url), 'utf8')
    const cells = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .slice(2)
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
    const examples: Readonly<Record<string, string | null>> = {
      'any other, or none': null,
      'any but Malignant': 'Benign',
      'no referral asked for': null,
      'not understood': 'MAYBE',
    }
    const asText = (cell: string | undefined) =>
      cell !== undefined && cell in examples ? (examples[cell] ?? null) : (cell ?? null)
    const computed = cells.map(([name, text]) =>
      name === 'no lesion' ? outcomeOf([], []) : outcomeOf([found(asText(name), asText(text))], []),
    )
    expect(cells.map(([, , score, recommendation, basis]) => [Number(score), recommendation, basis])).toEqual(
      computed.map(gradeOf),
    )
    expect(new Set(cells.map((row) => row[4]))).toEqual(
      new Set(
        [...representatives.map((each) => outcomeOf([each], [])), outcomeOf([], [])].map(
          ({ score_basis }) => score_basis,
        ),
      ),
    )
    expect(text).toContain(`Scoring version: \`${scoringVersion}\``)
  })
})
