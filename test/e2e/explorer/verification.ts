import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import { expect, it } from 'vitest'
import { SETTINGS } from '../../../contracts/compile.ts'
import { INSTALLED_COMPILER } from '../../../explorer/verify/compilers.ts'
import { CHAIN_ID } from '../devChain.ts'

const PATH = 'test/Puppet.sol'

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
type Answer = any

/**
 * Has the explorer verify a contract of ours that stands in one file, as clients of Sourcify do.
 * @param path in `contracts/`
 * @returns the finished job
 */
export async function verifyContract(explorerUrl: string, address: Hex, path: string, name: string): Promise<Answer> {
  const ask = async (part: string, options?: RequestInit): Promise<Answer> =>
    (await fetch(new URL(part, explorerUrl), options)).json()
  const content = readFileSync(new URL(`../../../contracts/${path}`, import.meta.url), 'utf8')
  const { verificationId } = await ask(`v2/verify/${CHAIN_ID}/${address}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      // The settings with which it was deployed.
      stdJsonInput: { language: 'Solidity', sources: { [path]: { content } }, settings: SETTINGS },
      compilerVersion: `v${INSTALLED_COMPILER.version}`,
      contractIdentifier: `${path}:${name}`,
    }),
  })
  for (;;) {
    const job = await ask(`v2/verify/${verificationId}`)
    if (job.isJobCompleted) return job
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Verifies a contract that another one created in the chain of index.test.ts, whose code is known by a trace alone. */
export function testVerification(url: () => string, child: () => Hex): void {
  it('verifies a contract by its sources, as clients of Sourcify ask for it', async () => {
    const job = await verifyContract(url(), child(), PATH, 'Puppet')
    // Our settings leave the metadata out, so nothing tells sources with other comments apart.
    expect(job).toMatchObject({ contract: { match: 'match', runtimeMatch: 'match', creationMatch: 'match' } })
    const source: Answer = await (await fetch(new URL(`api/v1/contracts/${child()}/source`, url()))).json()
    expect(source).toMatchObject({ name: 'Puppet', path: PATH, match: 'match' })
    // An empty list of steps.
    expect(source.constructorArguments).toBe(`0x${'20'.padStart(64, '0')}${'0'.repeat(64)}`)
    expect(source.abi.some(({ name }: { readonly name?: string }) => name === 'run')).toBe(true)
  })
}
