import { expect, it } from 'vitest'
import type { Tracer } from '../../../src/telemetry/spans.ts'
import { TransactionTraces } from '../../../src/telemetry/spans.ts'

it('records a refusal of any length with its beginning', () => {
  const recorded: unknown[] = []
  const tracer: Pick<Tracer, 'follows' | 'transaction'> = {
    follows: () => true,
    transaction: (_, name, { attributes }) => void recorded.push([name, attributes]),
  }
  const reason = `insufficient fee; got: ${'1denom,'.repeat(10_000)}`
  new TransactionTraces(tracer).checked(new Uint8Array(32), 0, true, reason)
  const attributes = { 'coind.from_client': true, 'coind.refusal': reason.slice(0, 256) }
  expect(recorded).toEqual([['mempool.admit', attributes]])
})
