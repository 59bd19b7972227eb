import htm from 'htm'
import { h } from 'preact'

/** Values in the markup become texts and properties, never markup. */
export const html = htm.bind(h)
