import { expect, test } from 'vitest'
import { parseChangelog } from '../../../src/api/routes/pages/changelog.ts'

test('a release is a heading and the list under it, however its lines are broken', () => {
  const page = `# Changelog\n\nWhat changed.\n\n## 1.1.0 (2026-12-01)\n\n- One thing,\n  over two lines.\n- Another - with a dash.\n\n## 1.0.0\n`
  expect(parseChangelog(page)).toEqual([
    { version: '1.1.0', date: '2026-12-01', changes: ['One thing, over two lines.', 'Another - with a dash.'] },
    { version: '1.0.0', date: null, changes: [] },
  ])
})

test('headings within a release and the rules of tables are no part of a change', () => {
  const page = `# Changelog\n\n## Unreleased\n\n### Reads\n\n- One thing:\n\n  | old | new |\n  | --- | --- |\n  | a   | b   |\n\n### Writes\n\n- Another.\n`
  expect(parseChangelog(page)).toEqual([
    { version: 'Unreleased', date: null, changes: ['One thing: | old | new | | a | b |', 'Another.'] },
  ])
})
