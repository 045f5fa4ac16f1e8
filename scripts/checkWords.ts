import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const MAX_SENTENCE_WORDS = 35
const MAX_PARAGRAPH_WORDS = 120

/**
 * Constructions that make a reader read twice, each with what to write instead. Comments of sources
 * are checked for those that are marked: each of the others is right in some comment.
 */
const PATTERNS: readonly (readonly [pattern: RegExp, instead: string, inComments?: true])[] = [
  [/\bof (?:it|which|that|whose)\b/gi, 'a possessive or the noun itself'],
  [/\b(?:nobody|somebody|whoever|those who)\b/gi, 'the client, a peer, the caller, no caller'],
  [/\b(?:is|are|has|have) none\b/gi, '“there are no X”, invalid, absent, “is not an X”'],
  [/\bgives\b/gi, 'returns, yields'],
  [/\b(?:goes|go|going) on\b/gi, 'continues, resumes'],
  [/\bthe begin\b/gi, 'the start', true],
  [/\bfor ever\b/gi, 'forever, permanently', true],
  [/\bbeside\b/gi, 'next to, alongside'],
  [/\bkept\b/gi, 'cached (may be dropped), retained (stays)'],
  [/\b(?:comes?|came) upon\b/gi, 'encounters, hits', true],
  [/\bin vain\b/gi, 'missed, wasted', true],
  [/\blooks? whether\b/gi, 'check whether', true],
  [/\bfor want of\b/gi, 'because it lacked', true],
  [/\b(?:tells? of|(?:is|are) told of)\b/gi, 'reports, is notified of'],
  [/\bbut (?:for|when)\b/gi, 'except', true],
  [
    /\b(?:once|twice|times|transactions|blocks|bytes|requests|MiB|KiB) an? (?:second|minute|hour|day|block|gas)\b/gi,
    '“per second”, “per block”, “per gas”',
    true,
  ],
  [/\bthe (?:former|present)\b/gi, 'previous, current'],
  [/(?<!error |exit |status )\bcodes\b/gi, 'bytecode, contract code (an error’s or exit code is “error codes”)'],
  [/\bin the place of\b/gi, 'instead of', true],
]

export interface Finding {
  readonly line: number
  readonly message: string
}

interface Passage {
  /** of its first line, from 1 */
  readonly line: number
  readonly text: string
  /** false for a heading and a table's cell */
  readonly isParagraph: boolean
}

/**
 * Splits a Markdown page into passages: paragraphs, items of lists, headings and cells of tables,
 * without blocks of code.
 */
export function splitPassages(page: string): Passage[] {
  const passages: Passage[] = []
  let open: { line: number; lines: string[] } | undefined
  let isCode = false
  const close = () => {
    if (open !== undefined) passages.push({ line: open.line, text: open.lines.join(' '), isParagraph: true })
    open = undefined
  }
  page.split('\n').forEach((raw, index) => {
    const text = raw.trim()
    const line = index + 1
    if (/^(?:```|~~~)/.test(text)) {
      close()
      isCode = !isCode
    } else if (isCode) return
    else if (text === '' || /^<.*>$/.test(text)) close()
    else if (text.startsWith('|')) {
      close()
      if (/^[|: -]+$/.test(text)) return
      for (const cell of text.split(/(?<!\\)\|/)) {
        if (cell.trim() !== '') passages.push({ line, text: cell.trim(), isParagraph: false })
      }
    } else if (/^#+ /.test(text)) {
      close()
      passages.push({ line, text: text.replace(/^#+ /, ''), isParagraph: false })
    } else if (/^(?:[-*+]|\d+\.) /.test(text)) {
      close()
      open = { line, lines: [text.replace(/^(?:[-*+]|\d+\.) /, '')] }
    } else if (open === undefined) open = { line, lines: [text] }
    else open.lines.push(text)
  })
  close()
  return passages
}

/** Returns a passage as it is read: code is one word, a link is its text. */
function readable(text: string): string {
  return text
    .replace(/`[^`]*`/g, 'code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\bhttps?:\/\/\S+/g, 'link')
}

/**
 * Splits a passage into sentences. A semicolon ends none; a full stop ends one before a capital, a
 * digit, a quote or code.
 */
export function splitSentences(text: string): string[] {
  return text
    .replace(/\b(e\.g|i\.e|vs|etc|No)\. /g, '$1.\u00a0')
    .split(/(?<=[.!?][)”"*_]*) +(?=[(“"*_`]*(?:[A-Z0-9]|code\b))/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

/** Counts words that have a letter or a digit, so without dashes and arrows. */
export function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

export function checkPage(page: string): Finding[] {
  return splitPassages(page).flatMap(({ line, text, isParagraph }) => {
    const plain = readable(text)
    const findings: Finding[] = []
    const words = countWords(plain)
    if (isParagraph && words > MAX_PARAGRAPH_WORDS) {
      findings.push({ line, message: `a paragraph of ${words} words: ${plain.slice(0, 60)}…` })
    }
    for (const sentence of splitSentences(plain)) {
      const length = countWords(sentence)
      if (length > MAX_SENTENCE_WORDS) findings.push({ line, message: `a sentence of ${length} words: ${sentence}` })
    }
    for (const [pattern, instead] of PATTERNS) {
      for (const match of plain.matchAll(pattern)) {
        const around = plain.slice(Math.max(match.index - 30, 0), match.index + match[0].length + 20)
        findings.push({ line, message: `“${match[0]}” (write ${instead}): …${around}…` })
      }
    }
    return findings
  })
}

const COMMENT_PATTERNS = PATTERNS.filter(([, , inComments]) => inComments)

/** The findings in the comments of a source file. */
export function checkSource(source: string): Finding[] {
  return source.split('\n').flatMap((text, index) => {
    if (!/^\s*(?:\/\*\*?|\*|\/\/)/.test(text)) return []
    return COMMENT_PATTERNS.flatMap(([pattern, instead]) =>
      [...text.matchAll(pattern)].map((match) => ({
        line: index + 1,
        message: `“${match[0]}” (write ${instead}): ${text.trim().slice(0, 100)}`,
      })),
    )
  })
}

const DOCUMENTS = ['README.md', 'SECURITY.md', 'docs/**/*.md', '{src,assembly,explorer,test}/**/README.md']
const SOURCES = ['src/**/*.ts', 'explorer/**/*.{ts,tsx}', 'assembly/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.{ts,js}']

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const named = process.argv.slice(2)
  const files = named.length > 0 ? named : globSync([...DOCUMENTS, ...SOURCES], { cwd: root })
  let count = 0
  for (const file of files.map((name) => name.replaceAll('\\', '/')).toSorted()) {
    const text = readFileSync(resolve(root, file), 'utf8')
    for (const { line, message } of file.endsWith('.md') ? checkPage(text) : checkSource(text)) {
      console.log(`${file}:${line}: ${message}`)
      count += 1
    }
  }
  if (count > 0) process.exitCode = 1
}
