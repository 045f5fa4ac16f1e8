import { genesisHash, parseGenesis } from '../../chain/genesis/genesis.ts'
import { type Genesis, GenesisError } from '../../chain/genesis/genesisSchema.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { isTemporary, shownUrl } from '../../primitives/httpProblems.ts'
import { cometEndpoint, type HttpAnswer, HttpError, type HttpLimits, httpGet } from './httpGet.ts'

/** The genesis that a joining node will accept. */
interface ExpectedGenesis {
  readonly chainId: string
  readonly evmChainId: bigint
  /** undefined when any genesis of the seed node is accepted */
  readonly hash: Uint8Array | undefined
}

interface FetchGenesisOptions {
  /** RPC address of the seed node */
  readonly url: string
  readonly expected: ExpectedGenesis
  /** Resolves after this time; rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** stops the attempts */
  readonly signal: AbortSignal
  /** The seed node did not answer; it will be asked again. */
  readonly onRetry: (reason: string, delayMs: number) => void
  readonly limits?: Partial<FetchGenesisLimits>
}

interface FetchGenesisLimits extends HttpLimits {
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly attempts: number
}

/** About ten minutes in all: a seed node that is started at the same time, or restarted, is ready in less. */
const LIMITS: FetchGenesisLimits = {
  maxBytes: 32 << 20,
  timeoutMs: 30_000,
  firstDelayMs: 1_000,
  maxDelayMs: 30_000,
  attempts: 24,
}

/** The seed node cannot be reached at present. The message is one line for the operator. */
class SeedUnavailableError extends Error {
  override readonly name = 'SeedUnavailableError'
}

/** The server at the seed node's address is not a node of the expected network. The message is one line for the operator. */
class SeedRefusedError extends Error {
  override readonly name = 'SeedRefusedError'
}

/**
 * Fetches the genesis of the network that the seed node belongs to, checked against what the
 * operator expects. Retries with growing delays when waiting can help: no connection, no answer in
 * time, a server that is busy or fails (5xx).
 * @throws SeedUnavailableError after the last attempt; SeedRefusedError for an answer for which a retry would not help; the reason of
 * `signal` when that is aborted
 */
export async function fetchGenesis(options: FetchGenesisOptions): Promise<Genesis> {
  const limits = { ...LIMITS, ...options.limits }
  const endpoint = cometEndpoint(options.url, 'genesis')
  const seed = shownUrl(endpoint)
  for (let attempt = 1; ; attempt++) {
    try {
      return accept(await request(endpoint, limits, options.signal), options.expected, seed)
    } catch (error) {
      if (!(error instanceof SeedUnavailableError) || options.signal.aborted) throw error
      if (attempt >= limits.attempts) {
        throw new SeedUnavailableError(`${error.message} (${attempt} attempts): check SEED_NODE_URL and the seed node`)
      }
      const delayMs = Math.min(limits.firstDelayMs * 2 ** (attempt - 1), limits.maxDelayMs)
      options.onRetry(error.message, delayMs)
      try {
        await options.sleep(delayMs, options.signal)
      } finally {
        options.signal.throwIfAborted()
      }
    }
  }
}

/** @throws SeedUnavailableError, SeedRefusedError */
async function request(endpoint: URL, limits: FetchGenesisLimits, stop: AbortSignal): Promise<string> {
  const seed = shownUrl(endpoint)
  let answer: HttpAnswer
  try {
    answer = await httpGet(endpoint, limits, stop)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    if (error.kind === 'later') throw new SeedUnavailableError(error.message)
    throw new SeedRefusedError(
      error.kind === 'never'
        ? `${error.message}: check SEED_NODE_URL`
        : `${error.message}: the answer is not a genesis`,
    )
  }
  const { status, text, redirect } = answer
  if (status === 200) return text
  if (isTemporary(status)) throw new SeedUnavailableError(`${seed} answers with status ${status}`)
  if (status >= 300 && status < 400) {
    const where = redirect === undefined ? '' : ` to ${redirect}`
    throw new SeedRefusedError(`${seed} redirects${where}: SEED_NODE_URL must be the node's own address`)
  }
  throw new SeedRefusedError(`${seed} answers with status ${status}: SEED_NODE_URL must be the RPC address of a node`)
}

/** @throws SeedRefusedError, SeedUnavailableError when the node reports an error of its own */
function accept(text: string, expected: ExpectedGenesis, seed: string): Genesis {
  const genesis = readAnswer(text, seed)
  if (genesis.chain_id !== expected.chainId) {
    throw new SeedRefusedError(
      `${seed} belongs to the network ${genesis.chain_id}, but CHAIN_ID is ${expected.chainId}: one of the two is wrong`,
    )
  }
  const evmChainId = genesis.app_state.evm.params.chain_config.chain_id
  if (BigInt(evmChainId) !== expected.evmChainId) {
    throw new SeedRefusedError(`${seed} has EVM chain ID ${evmChainId}, but EVM_CHAIN_ID is ${expected.evmChainId}`)
  }
  const hash = genesisHash(genesis)
  if (expected.hash !== undefined && !equalBytes(expected.hash, hash)) {
    throw new SeedRefusedError(
      `${seed} has a genesis with the hash ${digits(hash)}, but GENESIS_HASH is ${digits(expected.hash)}`,
    )
  }
  return genesis
}

/** Reads CometBFT's answer to `genesis`: { result: { genesis } }. */
function readAnswer(text: string, seed: string): Genesis {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new SeedRefusedError(`${seed} does not answer with JSON: SEED_NODE_URL must be the RPC address of a node`)
  }
  const { result, error } = (body ?? {}) as {
    readonly result?: { readonly genesis?: unknown }
    readonly error?: unknown
  }
  if (error !== undefined && error !== null) throw new SeedUnavailableError(`${seed} reports an error`)
  if (typeof result?.genesis !== 'object' || result.genesis === null) {
    throw new SeedRefusedError(
      `${seed} does not answer with a genesis: SEED_NODE_URL must be the RPC address of a node`,
    )
  }
  try {
    return parseGenesis(JSON.stringify(result.genesis))
  } catch (problem) {
    if (problem instanceof GenesisError)
      throw new SeedRefusedError(`${seed} has a genesis that no node accepts: ${problem.message}`)
    throw problem
  }
}

function digits(hash: Uint8Array): string {
  return bytesToHex(hash).slice(2)
}
