import { LRUCache } from 'lru-cache'

export interface CircuitBreaker {
  /** 0 if a call is allowed (the caller then reports its result), else milliseconds until the next trial. */
  waitMs(key: string): number
  /** The same without using up the trial of an open circuit. Only one trial runs at a time. */
  openForMs(key: string): number
  report(key: string, outcome: 'success' | 'failure' | 'unknown'): void
}

interface Circuit {
  failures: number
  openLeaseEnd: number
  isTrialRunning: boolean
}

export interface CircuitBreakerOptions {
  /** Consecutive failures that open a circuit. */
  readonly threshold: number
  readonly openMs: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/**
 * After `threshold` consecutive failures, calls are refused for `openMs`. Then one trial decides whether the circuit
 * closes.
 */
export function createCircuitBreaker({ threshold, openMs, now }: CircuitBreakerOptions): CircuitBreaker {
  const circuits = new LRUCache<string, Circuit>({ max: 2000 })
  return {
    waitMs(key) {
      const circuit = circuits.get(key)
      if (circuit === undefined || circuit.failures < threshold) return 0
      const remaining = circuit.openLeaseEnd - now()
      if (remaining > 0) return Math.ceil(remaining)
      if (circuit.isTrialRunning) return openMs
      circuit.isTrialRunning = true
      return 0
    },
    openForMs(key) {
      const circuit = circuits.get(key)
      if (circuit === undefined || circuit.failures < threshold) return 0
      if (circuit.isTrialRunning) return openMs
      return Math.max(0, Math.ceil(circuit.openLeaseEnd - now()))
    },
    report(key, outcome) {
      if (outcome === 'success') {
        circuits.delete(key)
        return
      }
      const circuit = circuits.get(key) ?? { failures: 0, openLeaseEnd: 0, isTrialRunning: false }
      circuit.isTrialRunning = false
      if (outcome === 'failure') {
        circuit.failures += 1
        circuit.openLeaseEnd = now() + openMs
      }
      circuits.set(key, circuit)
    },
  }
}
