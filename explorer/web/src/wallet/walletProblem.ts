/** Numbers of errors of Ethereum wallets (EIP-1193, EIP-1474). */
const REFUSED = 4001
const UNAUTHORIZED = 4100
const UNKNOWN_CHAIN = 4902
const BUSY = -32002

const TEXTS: Readonly<Record<number, string>> = {
  [REFUSED]: 'You rejected the request in the wallet.',
  [UNAUTHORIZED]: 'The wallet has not shared this account with this page. Connect it again.',
  [UNKNOWN_CHAIN]: 'The wallet does not know this network. Add the network first.',
  [BUSY]: 'The wallet has another request open. Open the wallet and answer it.',
}

const TOO_FEW_COINS = /insufficient (funds|balance)|exceeds the balance|smaller than/i
export const NO_COINS = 'The account has too few coins for the amount and the fee.'

/** Messages of wallets and libraries, and their meaning for the reader. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/reject|denied|declin|cancell?ed by (the )?user|user cancel/i, TEXTS[REFUSED]!],
  [TOO_FEW_COINS, NO_COINS],
  [/does not exist on chain/i, 'This account has no coins yet, so it cannot pay a fee.'],
  [/no chain info|there is no modular chain info|unknown chain/i, TEXTS[UNKNOWN_CHAIN]!],
  [
    /ledger is unsupported for this chain/i,
    'The wallet has outdated settings for this network. Remove the network in the wallet, then connect again.',
  ],
  [/nonce too low|sequence mismatch/i, 'Another transaction of this account was included first. Try again.'],
  [/failed to fetch|networkerror|load failed/i, 'The RPC address of the network does not respond. Try again later.'],
]

/** Longest text of a chain or a wallet that is shown. */
const MAX_SHOWN = 300

interface ErrorLike {
  readonly code?: unknown
  readonly message?: unknown
  readonly shortMessage?: unknown
  readonly details?: unknown
  readonly cause?: unknown
  readonly data?: unknown
}

/** An error and what caused it, the outermost first. Wallets throw anything, texts and plain objects too. */
function chainOf(error: unknown): readonly ErrorLike[] {
  const found: ErrorLike[] = []
  let next: unknown = typeof error === 'string' ? { message: error } : error
  while (typeof next === 'object' && next !== null && !found.includes(next) && found.length < 10) {
    found.push(next)
    const { cause, data } = next as ErrorLike
    // MetaMask on phones hides the wallet's own error there.
    const original = (data as { readonly originalError?: unknown } | undefined)?.originalError
    next = cause ?? original
  }
  return found
}

/** Explains in one line why a wallet, the chain or the connection to them refused a transaction. */
export function walletProblem(error: unknown): string {
  const errors = chainOf(error)
  // The innermost is the wallet's or the node's own: libraries wrap it, sometimes in another kind.
  const code = errors.findLast((each) => typeof each.code === 'number')?.code as number | undefined
  const known = code === undefined ? undefined : TEXTS[code]
  if (known !== undefined) return known
  const textsOf = ({ details, shortMessage, message }: ErrorLike): readonly string[] =>
    [details, shortMessage, message].filter((text): text is string => typeof text === 'string' && text.trim() !== '')
  const texts = errors.flatMap(textsOf)
  const refusal = firstOf(texts, revertReason) ?? firstOf(texts, nativeLog)
  if (refusal !== undefined)
    return TOO_FEW_COINS.test(refusal) ? NO_COINS : `The chain rejected the transaction: ${oneLine(refusal)}`
  const innermost = errors.length === 0 ? [] : textsOf(errors.at(-1)!)
  for (const [pattern, meaning] of MEANINGS) if (innermost.some((text) => pattern.test(text))) return meaning
  return oneLine(innermost[0] ?? 'The wallet failed and gave no reason.')
}

function firstOf(texts: readonly string[], read: (text: string) => string | undefined): string | undefined {
  for (const text of texts) {
    const found = read(text)
    if (found !== undefined) return found
  }
  return undefined
}

/** Of `execution reverted: …`, as nodes and wallets write it; a reason of `Error(string)` is decoded by the node. */
function revertReason(text: string): string | undefined {
  return /execution reverted(?: with reason)?: ?(.+)/is.exec(text)?.[1]
}

/** Of what CosmJS says when a simulation or a broadcast fails. */
function nativeLog(text: string): string | undefined {
  const log =
    /Broadcasting transaction failed with code \d+ \(codespace: \w*\)\. Log: (.+)/s.exec(text)?.[1] ??
    /Query failed with \(\d+\): (.+)/s.exec(text)?.[1]
  return log?.replace(/ with gas used: '\d+'/, '').replace(/^rpc error: code = \w+ desc = /, '')
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line
}
