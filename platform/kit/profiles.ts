export const profiles = ['development', 'production'] as const

/** A first user works on localhost with made-up images; a clinic does not. */
export type Profile = (typeof profiles)[number]
