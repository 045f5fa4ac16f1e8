import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import { expect, it } from 'vitest'
import { SETTINGS } from '../../../contracts/compile.ts'
import { INSTALLED_COMPILER } from '../../../explorer/verify/compilers.ts'
import { CHAIN_ID } from '../devChain.ts'

const PATH = 'test/Puppet.sol'

/** Standard JSON of a contract of ours, with the settings with which it was deployed. */
function puppetJson() {
  const content = readFileSync(new URL(`../../../contracts/${PATH}`, import.meta.url), 'utf8')
  return { language: 'Solidity', sources: { [PATH]: { content } }, settings: SETTINGS }
}

/** Verifies a contract that another one created in the chain of index.test.ts, whose code is known by a trace alone. */
export function testVerification(url: () => string, child: () => Hex): void {
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
  const ask = async (path: string, options?: RequestInit): Promise<any> =>
    (await fetch(new URL(path, url()), options)).json()

  it('verifies a contract by its sources, as clients of Sourcify ask for it', async () => {
    const { verificationId } = await ask(`v2/verify/${CHAIN_ID}/${child()}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        stdJsonInput: puppetJson(),
        compilerVersion: `v${INSTALLED_COMPILER.version}`,
        contractIdentifier: `${PATH}:Puppet`,
      }),
    })
    let job = await ask(`v2/verify/${verificationId}`)
    while (!job.isJobCompleted) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      job = await ask(`v2/verify/${verificationId}`)
    }
    // Our settings leave the metadata out, so nothing tells sources with other comments apart.
    expect(job).toMatchObject({ contract: { match: 'match', runtimeMatch: 'match', creationMatch: 'match' } })
    const source = await ask(`api/v1/contracts/${child()}/source`)
    expect(source).toMatchObject({ name: 'Puppet', path: PATH, match: 'match' })
    // An empty list of steps.
    expect(source.constructorArguments).toBe(`0x${'20'.padStart(64, '0')}${'0'.repeat(64)}`)
    expect(source.abi.some(({ name }: { readonly name?: string }) => name === 'run')).toBe(true)
  })
}
