import type { CausingRequest, StoredObject } from '../../engine/aggregates/types.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { imageEvents, type ImageEvent } from './events.ts'

type Declared = Extract<ImageEvent, { type: 'ImageDeclared' }>['data']

export type ImageState =
  | { readonly status: 'absent' }
  | (Declared & { readonly status: 'awaiting_upload' })
  | (Declared & {
      readonly status: 'received'
      readonly object: StoredObject
      /** Pixels. */
      readonly width: number | null
      readonly height: number | null
      readonly receivedAt: string
      readonly submittedBy: CausingRequest
    })

export type ExistingImage = Exclude<ImageState, { status: 'absent' }>
export type AwaitedImage = Extract<ImageState, { status: 'awaiting_upload' }>

function evolve(state: ImageState, event: ImageEvent): ImageState {
  switch (event.type) {
    case 'ImageDeclared':
      return { ...event.data, status: 'awaiting_upload' }
    case 'ImageReceived': {
      if (state.status !== 'awaiting_upload') return state
      const { object, width, height, receivedAt, request } = event.data
      return { ...state, status: 'received', object, width, height, receivedAt, submittedBy: request }
    }
  }
}

/** Images with their own stream. The images of an assessment are in the assessment's stream. */
export const images = defineAggregate({
  category: 'image',
  id: idOfOrganisation,
  events: imageEvents,
  initialState: { status: 'absent' },
  evolve,
})
