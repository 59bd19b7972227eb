import { describe, expect, it } from 'vitest'
import { declareImage } from '../../../commands/images/image-decisions.ts'
import { isReceivedBy, isUploadOpen, receiveImage } from '../../../commands/images/image-decisions.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { at, hash } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { given } from '../../support/given-decider.ts'

const request = { key: hash('c'), fingerprint: hash('d') }
const declared = imageFact('ImageDeclared')
const received = imageFact('ImageReceived', { request })

describe('declaring an image', () => {
  const { declaredAt: _declared, closesAt: _closes, ...said } = declared.data
  const command = { ...said, now: new Date(at(0)), uploadWindowMs: 86_400_000 }

  it('opens a window for its bytes, once for a keyed request', () => {
    given(images).when(declareImage, command).thenEvents([declared])
    given(images, declared)
      .when(declareImage, { ...command, now: new Date(at(9)) })
      .thenNothing()
    given(images, declared, received).when(declareImage, command).thenNothing()
  })

  it('refuses another body under the same key, and a declaration without a key under an existing id', () => {
    given(images, declared)
      .when(declareImage, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
    given(images, declared)
      .when(declareImage, { ...command, fingerprint: null })
      .thenRefused('idempotency-key-reused')
  })
})

describe('receiving the bytes of an image', () => {
  const { imageId, object, width, height } = received.data
  const command = { request, image: { imageId, object, width, height }, now: new Date(at(5)) }

  it('happens once, for any repeat', () => {
    given(images, declared).when(receiveImage, command).thenEvents([received])
    given(images, declared, received).when(receiveImage, command).thenNothing()
    given(images, declared, received)
      .when(receiveImage, { ...command, request: null })
      .thenNothing()
    given(images, declared, received)
      .when(receiveImage, { ...command, request: { ...request, key: hash('e') } })
      .thenNothing()
  })

  it('is refused after the window has closed, except for bytes already received', () => {
    const late = { ...command, now: new Date(at(86_400)) }
    given(images, declared)
      .when(receiveImage, { ...command, now: new Date(Date.parse(at(86_400)) - 1) })
      .thenEvents([imageFact('ImageReceived', { request, receivedAt: '2026-03-02T09:59:59.999Z' })])
    given(images, declared).when(receiveImage, late).thenRefused('image-not-awaiting-upload')
    given(images, declared, received).when(receiveImage, late).thenNothing()
  })

  it('is refused without a declaration, and for a key that was used with another body', () => {
    given(images).when(receiveImage, command).thenRefused('not-found')
    given(images, declared, received)
      .when(receiveImage, { ...command, request: { ...request, fingerprint: hash('e') } })
      .thenRefused('idempotency-key-reused')
  })

  it('distinguishes the key of the submit from any other', () => {
    const state = [declared, received].reduce(images.evolve, images.initialState)
    expect([request, null, { ...request, key: hash('e') }].map((causing) => isReceivedBy(causing, state))).toEqual([
      true,
      false,
      false,
    ])
    expect(isReceivedBy(null, [declared, imageFact('ImageReceived')].reduce(images.evolve, images.initialState))).toBe(
      false,
    )
    expect([at(86_399), at(86_400)].map((now) => isUploadOpen(new Date(now), { closesAt: at(86_400) }))).toEqual([
      true,
      false,
    ])
  })
})
