import { createServer } from '../../../explorer/server/createServer.ts'

type Options = Parameters<typeof createServer>[0]

/** Whatever is asked of it is a fault of the test. */
export const refuse = async (): Promise<never> => {
  throw new Error('not expected')
}

/** The server of an explorer over these databases, without a node, compilers and a faucet; this machine is a proxy that names clients. */
export function createTestServer(options: Pick<Options, 'queries' | 'services'> & Partial<Options>) {
  return createServer({
    node: { ethereum: refuse, comet: refuse, rest: refuse },
    logger: { error: () => undefined, warn: () => undefined },
    verifier: { compilers: { versions: [], find: () => undefined }, submit: refuse, job: refuse, close: refuse },
    config: {
      chainName: 'test',
      coinSymbol: 'COIN',
      publicRpcUrl: 'http://localhost:8080/',
      trustedProxies: [{ address: '127.0.0.1', prefix: 32 }],
    },
    faucetAddress: undefined,
    listeners: new Set(),
    ...options,
  })
}
