import { isProblemCode, type ProblemCode, type ProblemDetails } from '../../platform/http/problems.ts'
import type { DomainEvent } from '../../streams/store/events.ts'
import { isRefusal, type Decision } from './decision.ts'

/** The problem that answers a refusal. With a member of the body, the detail is about that member. */
export type RefusalAnswer<Member extends string = string> =
  | { readonly code: ProblemCode; readonly detail?: string }
  | {
      readonly code: ProblemCode
      readonly member: Member
      readonly detail: string
      /** Name of the broken rule in `errors`; the problem's code if left out. */
      readonly rule?: string
    }

/** A refusal as its caller sees it. A refusal whose name is a problem code is one already. */
export interface AnsweredRefusal {
  readonly refused: ProblemCode
  readonly details?: ProblemDetails
}

/** A decision whose refusals are problems. `execute` takes no other. */
export type AnsweredDecision<Event extends DomainEvent> = readonly Event[] | AnsweredRefusal

/** Maps the refusals of decisions: those with an answer to their problem, those named like a problem to that one. */
export function answeringRefusals<Name extends string>(answers: Readonly<Record<Name, RefusalAnswer>>) {
  const entries = Object.entries<RefusalAnswer>(answers)
  const byName = new Map(entries.map(([name, answer]) => [name, answered(answer)]))
  return <Event extends DomainEvent>(decision: Decision<Event, Name | ProblemCode>): AnsweredDecision<Event> => {
    if (!isRefusal(decision)) return decision
    const name: string = decision.refused
    const refusal = byName.get(name) ?? (isProblemCode(name) ? { refused: name } : undefined)
    if (refusal === undefined) throw new Error(`no problem answers the refusal ${name}`)
    return refusal
  }
}

function answered(answer: RefusalAnswer): AnsweredRefusal {
  const { code, detail } = answer
  if (!('member' in answer)) return { refused: code, details: detail === undefined ? {} : { detail } }
  const { member, rule = code } = answer
  return { refused: code, details: { errors: [{ pointer: `/${member}`, detail: answer.detail, code: rule }] } }
}
