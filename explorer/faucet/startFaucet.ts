import { NodeError } from '../node/nodeClient.ts'
import { deleteOldLimits } from './grants.ts'
import { type Obstacle, type Payer, payGrants } from './payGrants.ts'

/** How often it looks for grants. */
const LOOK_MS = 1_000
const CLEANING_MS = 3_600_000

interface FaucetOptions extends Omit<Payer, 'sentAtMs' | 'nowMs'> {
  /** whether this process is the one that writes the index: it pays, too */
  readonly isOurTurn: () => boolean
}

/** Pays grants in the background, one look after the other. */
export function startFaucet({ isOurTurn, ...options }: FaucetOptions): { stop(): Promise<void> } {
  const { logger, services } = options
  const payer: Payer = { ...options, sentAtMs: new Map(), nowMs: () => performance.now() }
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let looking = Promise.resolve()
  let told: Obstacle | string
  const tell = (problem: Obstacle | string): void => {
    if (problem !== undefined && problem !== told)
      logger.warn({ reason: TEXTS[problem] ?? problem }, 'the faucet is not paying')
    told = problem
  }

  const look = async (): Promise<void> => {
    if (!isOurTurn()) return
    try {
      tell(await payGrants(payer))
    } catch (error) {
      if (isStopped) return
      if (!(error instanceof NodeError)) logger.warn({ error }, 'the faucet failed')
      else tell(error.message)
    }
  }
  const next = (): void => {
    timer = setTimeout(() => {
      looking = look().then(() => {
        if (!isStopped) next()
      })
    }, LOOK_MS)
  }
  next()
  const cleaning = setInterval(() => {
    deleteOldLimits(services, Date.now()).catch((error: unknown) => logger.warn({ error }, 'the faucet failed'))
  }, CLEANING_MS).unref()
  return {
    stop: () => {
      isStopped = true
      clearTimeout(timer)
      clearInterval(cleaning)
      return looking
    },
  }
}

/** Messages for the operator. A faucet that waits for its index logs nothing, since it waits at each start. */
const TEXTS: Readonly<Record<string, string>> = {
  otherChain: 'it gives coins on testnets and devnets only',
  indexBehind: 'the index is behind the node',
  empty: 'its account has too few coins: send coins to it',
}
