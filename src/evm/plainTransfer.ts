import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES } from '../primitives/bytes.ts'
import type { WorldState } from '../state/world.ts'
import type { Rules } from './blockContext.ts'
import type { ExecutionResult } from './engine.ts'
import type { PrecompileTable } from './precompile.ts'
import { isStandardPrecompile } from './precompileAddresses.ts'
import type { Tracer } from './tracer.ts'
import type { TransactionMessage } from './transactionChecks.ts'

/** A message to an account where no code runs. */
type PlainTransfer = TransactionMessage & { readonly to: Address }

const MAX_BALANCE = (1n << 256n) - 1n
/** An engine's answer to such a message. */
const NOTHING_RAN: ExecutionResult = { status: 'success', output: EMPTY_BYTES, gasUsed: 0n, gasRefund: 0n }

/**
 * Returns whether an engine would only move the value: the recipient has no code and is not a
 * precompile. Warm addresses do not matter then: nothing reads them before the transaction ends.
 */
export function isPlainTransfer(
  message: TransactionMessage,
  {
    world,
    precompiles,
    hiddenPrecompiles,
    rules,
  }: {
    readonly world: WorldState
    readonly precompiles: PrecompileTable
    readonly hiddenPrecompiles?: ReadonlySet<string>
    readonly rules: Rules
  },
): message is PlainTransfer {
  const { to, value, authorizationList } = message
  return (
    to !== undefined &&
    authorizationList.length === 0 &&
    world.getCode(to).length === 0 &&
    !precompiles.has(bytesKey(to)) &&
    (!isStandardPrecompile(to, rules.fork) || hiddenPrecompiles?.has(bytesKey(to)) === true) &&
    world.getBalance(to) + value <= MAX_BALANCE
  )
}

/** Moves the value, which the sender has; a recipient that gets nothing is touched (EIP-161). */
export function movePlainValue(
  world: WorldState,
  { sender, to, value }: PlainTransfer,
  onParty?: Tracer['onParty'],
): ExecutionResult {
  onParty?.(sender)
  onParty?.(to)
  world.subBalance(sender, value)
  world.addBalance(to, value)
  return NOTHING_RAN
}
