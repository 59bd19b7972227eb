import { isProblemCode, type ProblemCode, type ProblemDetails } from '../../platform/http/problems.ts'
import type { DomainEvent } from '../store/events.ts'
import { isRefusal, type Decision } from './decision.ts'

/** The problem for a refusal. With `member`, the detail is about that member of the body. */
export type RefusalAnswer<Member extends string = string> =
  | ({ readonly code: ProblemCode } & Pick<ProblemDetails, 'detail' | 'extensions'>)
  | {
      readonly code: ProblemCode
      readonly member: Member
      readonly detail: string
      /** Name of the broken rule in `errors`; the problem's code if left out. */
      readonly rule?: string
    }

/** A refusal with the code of its problem. A refusal named like a problem code already has this form. */
export interface AnsweredRefusal {
  readonly refused: ProblemCode
  readonly details?: ProblemDetails
}

/** A decision whose refusals have problem codes. `execute` accepts only this form. */
export type AnsweredDecision<Event extends DomainEvent> = readonly Event[] | AnsweredRefusal

/** Maps refusals to problems: by the given answers, or by a name that is a problem code. */
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
  if (!('member' in answer)) {
    const { code, ...details } = answer
    return { refused: code, details }
  }
  const { code, detail, member, rule = code } = answer
  return { refused: code, details: { errors: [{ pointer: `/${member}`, detail, code: rule }] } }
}
