import { expect, test } from 'vitest'
import { askInRounds } from '../../../engine/reads/rounds.ts'

/** Rounds that the test answers one by one. */
function openRounds() {
  const rounds: { readonly questions: readonly string[]; readonly answer: () => void; readonly fail: () => void }[] = []
  const ask = askInRounds<string, string>((questions) => {
    const { promise, resolve, reject } = Promise.withResolvers<(question: string) => string>()
    const answerOf = (question: string) => {
      if (question === 'wrong') throw new Error('a wrong question')
      return `${question} of ${questions.join()}`
    }
    rounds.push({ questions, answer: () => resolve(answerOf), fail: () => reject(new Error('no answers')) })
    return promise
  })
  return { ask, rounds }
}

test('a question during a round is asked in the next one, together with the others', async () => {
  const { ask, rounds } = openRounds()
  const answers = ['a', 'b', 'c'].map(ask)
  expect(rounds.map(({ questions }) => questions)).toEqual([['a']])
  rounds[0]?.answer()
  expect(await answers[0]).toBe('a of a')
  await expect.poll(() => rounds.length).toBe(2)
  rounds[1]?.answer()
  expect(await Promise.all(answers.slice(1))).toEqual(['b of b,c', 'c of b,c'])
})

test('an error of one question is its own, and an error of a round is of all its questions', async () => {
  const { ask, rounds } = openRounds()
  const first = ask('a')
  const second = Promise.allSettled(['wrong', 'right'].map(ask))
  rounds[0]?.fail()
  await expect(first).rejects.toThrow('no answers')
  await expect.poll(() => rounds.length).toBe(2)
  rounds[1]?.answer()
  expect(await second).toMatchObject([{ status: 'rejected' }, { value: 'right of wrong,right' }])
})

test('a slow round does not hold up later questions', async () => {
  const { ask, rounds } = openRounds()
  const slow = ask('slow')
  const next = ask('next')
  await expect.poll(() => rounds.length, { timeout: 15_000 }).toBe(2)
  rounds[1]?.answer()
  expect(await next).toBe('next of next')
  rounds[0]?.answer()
  expect(await slow).toBe('slow of slow')
})
