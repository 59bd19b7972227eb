import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** The part of the reviews for which the policy of the run demands two opinions. It selects all others, too. */
export const selecting = { share: 0.5 }

interface FollowedTask {
  readonly opened: Fact
  /** The latest claim, until it ends. */
  claim: Fact | undefined
  readonly opinions: Fact[]
  end: Fact | undefined
}

const ends = ['HumanReviewTaskDecided', 'HumanReviewTaskCancelled']

/** Completed reviews and their tasks according to the log, from a second definition that is independent of process and aggregate. */
class Tasks {
  readonly all = new Map<string, FollowedTask>()
  readonly findings: Finding[] = []
  /** Reviews that completed under a policy. The policy of the run selects all of them. */
  readonly #completed = new Map<string, Fact>()
  readonly #superseded = new Set<string>()
  /** The latest decision of each patient. */
  readonly #consents = new Map<string, string>()
  readonly #refusedOnce = new Set<string>()
  readonly #requests = new Set<string>()
  #hasPolicy = false

  constructor(log: readonly Fact[]) {
    for (const fact of log) this.#follow(fact)
  }

  /** What is not finished at the end of the log. */
  unfinished(): readonly Finding[] {
    const withTask = new Set([...this.all.values()].map(({ opened }) => text(opened, 'aiReviewId')))
    const lacking = [...this.#completed].flatMap(([id, fact]): Finding[] =>
      withTask.has(id) ? [] : [{ what: 'a completed review without a task', where: placeOf(fact) }],
    )
    const endless = [...this.all.values()].flatMap(({ opened, claim, end }): Finding[] => {
      const where = placeOf(opened)
      if (end !== undefined) return []
      const isRefused = ['denied', 'withdrawn'].includes(this.#consents.get(text(opened, 'patientId')) ?? '')
      return [
        ...(claim === undefined ? [] : [{ what: 'a claim whose lease has not ended', where: placeOf(claim) }]),
        ...(this.#superseded.has(text(opened, 'aiReviewId')) ? [{ what: 'a task of a superseded review', where }] : []),
        ...(isRefused ? [{ what: 'a task without consent', where }] : []),
      ]
    })
    return [...lacking, ...endless]
  }

  #follow(fact: Fact): void {
    if (fact.type === 'HumanReviewPolicySet') this.#hasPolicy = true
    if (fact.type === 'AiReviewCompleted' && this.#hasPolicy) this.#completed.set(text(fact, 'aiReviewId'), fact)
    if (fact.type === 'AiReviewSuperseded') this.#superseded.add(text(fact, 'aiReviewId'))
    if (fact.type === 'ConsentRecorded') {
      this.#consents.set(text(fact, 'patientId'), text(fact, 'decision'))
      if (text(fact, 'decision') !== 'granted') this.#refusedOnce.add(text(fact, 'patientId'))
    }
    if (!fact.stream.startsWith('humanreviewtask-')) return
    const key = at(fact.data, 'request', 'key')
    if (typeof key === 'string') {
      if (this.#requests.has(`${fact.stream} ${key}`)) this.#find('a second event of one request', fact)
      this.#requests.add(`${fact.stream} ${key}`)
    }
    if (fact.type === 'HumanReviewTaskOpened') return this.#open(fact)
    if (fact.type === 'HumanReviewNotSelected')
      return this.#find('a review without a task, which the policy selects', fact)
    const task = this.all.get(text(fact, 'taskId'))
    if (task === undefined) return this.#find('an event of no task', fact)
    if (task.end !== undefined) this.#find('an event after the end of a task', fact)
    this.#change(task, fact)
    if (ends.includes(fact.type)) task.end = fact
  }

  #open(fact: Fact): void {
    const aiReviewId = text(fact, 'aiReviewId')
    if (!this.#completed.has(aiReviewId)) this.#find('a task of a review that has not completed', fact)
    if ([...this.all.values()].some(({ opened }) => text(opened, 'aiReviewId') === aiReviewId))
      this.#find('a second task of a review', fact)
    // A key of the vault decides which one, so that no caller can compute it.
    if (![1, 2].includes(Number(at(fact.data, 'opinionsRequired'))))
      this.#find('another number of opinions than the policy demands', fact)
    this.all.set(text(fact, 'taskId'), { opened: fact, claim: undefined, opinions: [], end: undefined })
  }

  #change(task: FollowedTask, fact: Fact): void {
    const { claim, opinions, opened } = task
    const holder = claim === undefined ? '' : text(claim, 'userId')
    const leaseUntil = Date.parse(claim === undefined ? '' : text(claim, 'leaseUntil'))
    const isOfHolder = claim !== undefined && text(fact, 'userId') === holder
    switch (fact.type) {
      case 'HumanReviewTaskClaimed':
        if (claim !== undefined && !isOfHolder) this.#find('a claim of a task that another user holds', fact)
        task.claim = fact
        return
      case 'HumanReviewTaskReleased':
        if (!isOfHolder) this.#find('a release without a claim', fact)
        if (text(fact, 'reason') === 'lease_expired' && Date.parse(text(fact, 'releasedAt')) < leaseUntil)
          this.#find('a lease that ended too early', fact)
        task.claim = undefined
        return
      case 'HumanReviewOpinionGiven':
        if (!isOfHolder || Date.parse(text(fact, 'givenAt')) >= leaseUntil)
          this.#find('an opinion without a claim', fact)
        if (opinions.some((one) => text(one, 'userId') === text(fact, 'userId')))
          this.#find('a second opinion of a user', fact)
        task.claim = undefined
        opinions.push(fact)
        if (opinions.length === 2 && (at(fact.data, 'opinionsRequired') === 3) === agree(opinions))
          this.#find('a third opinion, although two agree, or none, although they differ', fact)
        return
      case 'HumanReviewTaskDecided': {
        if (opinions.length === 0 || at(opinions.at(-1)?.data, 'opinionsRequired') !== opinions.length)
          this.#find('a decision with another number of opinions than required', fact)
        const number = opinions.length === 3 ? 3 : 1
        if (at(fact.data, 'opinion') !== number) this.#find('another opinion than the deciding one', fact)
        const agrees = lesionsOf(opinions[number - 1]).every((lesion) => at(lesion, 'outcome') === 'confirm')
        if (at(fact.data, 'agreesWithAi') !== agrees) this.#find('another agreement with the AI than decided', fact)
        return
      }
      case 'HumanReviewTaskCancelled': {
        const isFounded =
          text(fact, 'reason') === 'superseded'
            ? this.#superseded.has(text(opened, 'aiReviewId'))
            : this.#refusedOnce.has(text(opened, 'patientId'))
        if (!isFounded) this.#find('a cancellation without its reason', fact)
      }
    }
  }

  #find(what: string, fact: Fact): void {
    this.findings.push({ what, where: placeOf(fact) })
  }
}

/** The lesions of a task or of an opinion. */
export function lesionsOf(fact: Fact | undefined): readonly unknown[] {
  const lesions: unknown = at(fact?.data, 'lesions')
  return Array.isArray(lesions) ? lesions : []
}

/**
 * Two opinions agree in the recommendation and in each lesion. Undefined if that depends on corrections, which are sealed
 * in the log.
 */
function agree(opinions: readonly Fact[]): boolean | undefined {
  const contents = opinions.map((opinion) =>
    JSON.stringify([
      at(opinion.data, 'recommendation'),
      lesionsOf(opinion).map((lesion) => ['lesionNumber', 'outcome'].map((member) => at(lesion, member))),
    ]),
  )
  if (new Set(contents).size > 1) return false
  const isSealed = opinions.some((opinion) => lesionsOf(opinion).some((lesion) => at(lesion, 'outcome') === 'correct'))
  return isSealed ? undefined : true
}

/** Work on tasks that is not finished at the end of the log. */
export function tasksUnderWay(log: readonly Fact[]): readonly string[] {
  return new Tasks(log).unfinished().map(({ what, where }) => `${what}: ${where}`)
}

/**
 * Each completed review has one task. A task has one holder at a time, one opinion per user and at most one decision: the
 * first of two opinions that agree, otherwise the third. A request has at most one event. Superseded reviews and refused
 * consents leave no open task.
 */
export function checkTasks(log: readonly Fact[]): Checked {
  const tasks = new Tasks(log)
  const decided = [...tasks.all.values()].filter(({ end }) => end?.type === 'HumanReviewTaskDecided')
  const thirds = decided.filter(({ opinions }) => opinions.length === 3).length
  return {
    check: `one task per completed review, one decision per task (${decided.length} decided, ${thirds} by a third opinion)`,
    examined: tasks.all.size,
    findings: [...tasks.findings, ...tasks.unfinished()],
  }
}
