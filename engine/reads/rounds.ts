import { pause } from '../../platform/kit/backoff.ts'

interface Waiter<Question, Answer> {
  readonly question: Question
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** How long a slow round holds up the next one, in milliseconds. */
const longestTurnMs = 250

/**
 * Asks for many callers at once. A question that comes during a round waits for the next one, so an answer includes
 * everything recorded before its question. One caller alone does not wait.
 *
 * @param ask gives the answer of each question of a round. It may throw for one of them.
 */
export function askInRounds<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<(question: Question) => Answer>,
): (question: Question) => Promise<Answer> {
  let waiters: Waiter<Question, Answer>[] = []
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiters.length > 0) {
      const round = waiters
      waiters = []
      const turn = new AbortController()
      await Promise.race([answerRound(round).finally(() => turn.abort()), pause(longestTurnMs, turn.signal)])
    }
    isRunning = false
  }

  async function answerRound(round: readonly Waiter<Question, Answer>[]): Promise<void> {
    let answerOf: (question: Question) => Answer
    try {
      answerOf = await ask(round.map(({ question }) => question))
    } catch (error) {
      for (const { reject } of round) reject(error)
      return
    }
    for (const { question, resolve, reject } of round) {
      try {
        resolve(answerOf(question))
      } catch (error) {
        reject(error)
      }
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiters.push({ question, resolve, reject })
      if (!isRunning) void run()
    })
}
