/* entities.c - HTML5 named character references. Made by tools/gen_entities.py from
 * Python's html.entities; do not edit. */
#include "text/html.h"

/* Names in byte order, NUL after each. */
const char entity_names[] =
    "AElig\0AMP\0Aacute\0Abreve\0Acirc\0Acy\0Afr\0Agrave\0Alpha\0Amacr\0And\0Aogon\0Aopf\0"
    "ApplyFunction\0Aring\0Ascr\0Assign\0Atilde\0Auml\0Backslash\0Barv\0Barwed\0Bcy\0Because\0"
    "Bernoullis\0Beta\0Bfr\0Bopf\0Breve\0Bscr\0Bumpeq\0CHcy\0COPY\0Cacute\0Cap\0"
    "CapitalDifferentialD\0Cayleys\0Ccaron\0Ccedil\0Ccirc\0Cconint\0Cdot\0Cedilla\0CenterDot\0Cfr\0"
    "Chi\0CircleDot\0CircleMinus\0CirclePlus\0CircleTimes\0ClockwiseContourIntegral\0"
    "CloseCurlyDoubleQuote\0CloseCurlyQuote\0Colon\0Colone\0Congruent\0Conint\0ContourIntegral\0"
    "Copf\0Coproduct\0CounterClockwiseContourIntegral\0Cross\0Cscr\0Cup\0CupCap\0DD\0DDotrahd\0"
    "DJcy\0DScy\0DZcy\0Dagger\0Darr\0Dashv\0Dcaron\0Dcy\0Del\0Delta\0Dfr\0DiacriticalAcute\0"
    "DiacriticalDot\0DiacriticalDoubleAcute\0DiacriticalGrave\0DiacriticalTilde\0Diamond\0"
    "DifferentialD\0Dopf\0Dot\0DotDot\0DotEqual\0DoubleContourIntegral\0DoubleDot\0"
    "DoubleDownArrow\0DoubleLeftArrow\0DoubleLeftRightArrow\0DoubleLeftTee\0DoubleLongLeftArrow\0"
    "DoubleLongLeftRightArrow\0DoubleLongRightArrow\0DoubleRightArrow\0DoubleRightTee\0"
    "DoubleUpArrow\0DoubleUpDownArrow\0DoubleVerticalBar\0DownArrow\0DownArrowBar\0"
    "DownArrowUpArrow\0DownBreve\0DownLeftRightVector\0DownLeftTeeVector\0DownLeftVector\0"
    "DownLeftVectorBar\0DownRightTeeVector\0DownRightVector\0DownRightVectorBar\0DownTee\0"
    "DownTeeArrow\0Downarrow\0Dscr\0Dstrok\0ENG\0ETH\0Eacute\0Ecaron\0Ecirc\0Ecy\0Edot\0Efr\0"
    "Egrave\0Element\0Emacr\0EmptySmallSquare\0EmptyVerySmallSquare\0Eogon\0Eopf\0Epsilon\0Equal\0"
    "EqualTilde\0Equilibrium\0Escr\0Esim\0Eta\0Euml\0Exists\0ExponentialE\0Fcy\0Ffr\0"
    "FilledSmallSquare\0FilledVerySmallSquare\0Fopf\0ForAll\0Fouriertrf\0Fscr\0GJcy\0GT\0Gamma\0"
    "Gammad\0Gbreve\0Gcedil\0Gcirc\0Gcy\0Gdot\0Gfr\0Gg\0Gopf\0GreaterEqual\0GreaterEqualLess\0"
    "GreaterFullEqual\0GreaterGreater\0GreaterLess\0GreaterSlantEqual\0GreaterTilde\0Gscr\0Gt\0"
    "HARDcy\0Hacek\0Hat\0Hcirc\0Hfr\0HilbertSpace\0Hopf\0HorizontalLine\0Hscr\0Hstrok\0"
    "HumpDownHump\0HumpEqual\0IEcy\0IJlig\0IOcy\0Iacute\0Icirc\0Icy\0Idot\0Ifr\0Igrave\0Im\0Imacr\0"
    "ImaginaryI\0Implies\0Int\0Integral\0Intersection\0InvisibleComma\0InvisibleTimes\0Iogon\0"
    "Iopf\0Iota\0Iscr\0Itilde\0Iukcy\0Iuml\0Jcirc\0Jcy\0Jfr\0Jopf\0Jscr\0Jsercy\0Jukcy\0KHcy\0"
    "KJcy\0Kappa\0Kcedil\0Kcy\0Kfr\0Kopf\0Kscr\0LJcy\0LT\0Lacute\0Lambda\0Lang\0Laplacetrf\0Larr\0"
    "Lcaron\0Lcedil\0Lcy\0LeftAngleBracket\0LeftArrow\0LeftArrowBar\0LeftArrowRightArrow\0"
    "LeftCeiling\0LeftDoubleBracket\0LeftDownTeeVector\0LeftDownVector\0LeftDownVectorBar\0"
    "LeftFloor\0LeftRightArrow\0LeftRightVector\0LeftTee\0LeftTeeArrow\0LeftTeeVector\0"
    "LeftTriangle\0LeftTriangleBar\0LeftTriangleEqual\0LeftUpDownVector\0LeftUpTeeVector\0"
    "LeftUpVector\0LeftUpVectorBar\0LeftVector\0LeftVectorBar\0Leftarrow\0Leftrightarrow\0"
    "LessEqualGreater\0LessFullEqual\0LessGreater\0LessLess\0LessSlantEqual\0LessTilde\0Lfr\0Ll\0"
    "Lleftarrow\0Lmidot\0LongLeftArrow\0LongLeftRightArrow\0LongRightArrow\0Longleftarrow\0"
    "Longleftrightarrow\0Longrightarrow\0Lopf\0LowerLeftArrow\0LowerRightArrow\0Lscr\0Lsh\0Lstrok\0"
    "Lt\0Map\0Mcy\0MediumSpace\0Mellintrf\0Mfr\0MinusPlus\0Mopf\0Mscr\0Mu\0NJcy\0Nacute\0Ncaron\0"
    "Ncedil\0Ncy\0NegativeMediumSpace\0NegativeThickSpace\0NegativeThinSpace\0"
    "NegativeVeryThinSpace\0NestedGreaterGreater\0NestedLessLess\0NewLine\0Nfr\0NoBreak\0"
    "NonBreakingSpace\0Nopf\0Not\0NotCongruent\0NotCupCap\0NotDoubleVerticalBar\0NotElement\0"
    "NotEqual\0NotEqualTilde\0NotExists\0NotGreater\0NotGreaterEqual\0NotGreaterFullEqual\0"
    "NotGreaterGreater\0NotGreaterLess\0NotGreaterSlantEqual\0NotGreaterTilde\0NotHumpDownHump\0"
    "NotHumpEqual\0NotLeftTriangle\0NotLeftTriangleBar\0NotLeftTriangleEqual\0NotLess\0"
    "NotLessEqual\0NotLessGreater\0NotLessLess\0NotLessSlantEqual\0NotLessTilde\0"
    "NotNestedGreaterGreater\0NotNestedLessLess\0NotPrecedes\0NotPrecedesEqual\0"
    "NotPrecedesSlantEqual\0NotReverseElement\0NotRightTriangle\0NotRightTriangleBar\0"
    "NotRightTriangleEqual\0NotSquareSubset\0NotSquareSubsetEqual\0NotSquareSuperset\0"
    "NotSquareSupersetEqual\0NotSubset\0NotSubsetEqual\0NotSucceeds\0NotSucceedsEqual\0"
    "NotSucceedsSlantEqual\0NotSucceedsTilde\0NotSuperset\0NotSupersetEqual\0NotTilde\0"
    "NotTildeEqual\0NotTildeFullEqual\0NotTildeTilde\0NotVerticalBar\0Nscr\0Ntilde\0Nu\0OElig\0"
    "Oacute\0Ocirc\0Ocy\0Odblac\0Ofr\0Ograve\0Omacr\0Omega\0Omicron\0Oopf\0OpenCurlyDoubleQuote\0"
    "OpenCurlyQuote\0Or\0Oscr\0Oslash\0Otilde\0Otimes\0Ouml\0OverBar\0OverBrace\0OverBracket\0"
    "OverParenthesis\0PartialD\0Pcy\0Pfr\0Phi\0Pi\0PlusMinus\0Poincareplane\0Popf\0Pr\0Precedes\0"
    "PrecedesEqual\0PrecedesSlantEqual\0PrecedesTilde\0Prime\0Product\0Proportion\0Proportional\0"
    "Pscr\0Psi\0QUOT\0Qfr\0Qopf\0Qscr\0RBarr\0REG\0Racute\0Rang\0Rarr\0Rarrtl\0Rcaron\0Rcedil\0"
    "Rcy\0Re\0ReverseElement\0ReverseEquilibrium\0ReverseUpEquilibrium\0Rfr\0Rho\0"
    "RightAngleBracket\0RightArrow\0RightArrowBar\0RightArrowLeftArrow\0RightCeiling\0"
    "RightDoubleBracket\0RightDownTeeVector\0RightDownVector\0RightDownVectorBar\0RightFloor\0"
    "RightTee\0RightTeeArrow\0RightTeeVector\0RightTriangle\0RightTriangleBar\0RightTriangleEqual\0"
    "RightUpDownVector\0RightUpTeeVector\0RightUpVector\0RightUpVectorBar\0RightVector\0"
    "RightVectorBar\0Rightarrow\0Ropf\0RoundImplies\0Rrightarrow\0Rscr\0Rsh\0RuleDelayed\0SHCHcy\0"
    "SHcy\0SOFTcy\0Sacute\0Sc\0Scaron\0Scedil\0Scirc\0Scy\0Sfr\0ShortDownArrow\0ShortLeftArrow\0"
    "ShortRightArrow\0ShortUpArrow\0Sigma\0SmallCircle\0Sopf\0Sqrt\0Square\0SquareIntersection\0"
    "SquareSubset\0SquareSubsetEqual\0SquareSuperset\0SquareSupersetEqual\0SquareUnion\0Sscr\0"
    "Star\0Sub\0Subset\0SubsetEqual\0Succeeds\0SucceedsEqual\0SucceedsSlantEqual\0SucceedsTilde\0"
    "SuchThat\0Sum\0Sup\0Superset\0SupersetEqual\0Supset\0THORN\0TRADE\0TSHcy\0TScy\0Tab\0Tau\0"
    "Tcaron\0Tcedil\0Tcy\0Tfr\0Therefore\0Theta\0ThickSpace\0ThinSpace\0Tilde\0TildeEqual\0"
    "TildeFullEqual\0TildeTilde\0Topf\0TripleDot\0Tscr\0Tstrok\0Uacute\0Uarr\0Uarrocir\0Ubrcy\0"
    "Ubreve\0Ucirc\0Ucy\0Udblac\0Ufr\0Ugrave\0Umacr\0UnderBar\0UnderBrace\0UnderBracket\0"
    "UnderParenthesis\0Union\0UnionPlus\0Uogon\0Uopf\0UpArrow\0UpArrowBar\0UpArrowDownArrow\0"
    "UpDownArrow\0UpEquilibrium\0UpTee\0UpTeeArrow\0Uparrow\0Updownarrow\0UpperLeftArrow\0"
    "UpperRightArrow\0Upsi\0Upsilon\0Uring\0Uscr\0Utilde\0Uuml\0VDash\0Vbar\0Vcy\0Vdash\0Vdashl\0"
    "Vee\0Verbar\0Vert\0VerticalBar\0VerticalLine\0VerticalSeparator\0VerticalTilde\0"
    "VeryThinSpace\0Vfr\0Vopf\0Vscr\0Vvdash\0Wcirc\0Wedge\0Wfr\0Wopf\0Wscr\0Xfr\0Xi\0Xopf\0Xscr\0"
    "YAcy\0YIcy\0YUcy\0Yacute\0Ycirc\0Ycy\0Yfr\0Yopf\0Yscr\0Yuml\0ZHcy\0Zacute\0Zcaron\0Zcy\0Zdot\0"
    "ZeroWidthSpace\0Zeta\0Zfr\0Zopf\0Zscr\0aacute\0abreve\0ac\0acE\0acd\0acirc\0acute\0acy\0"
    "aelig\0af\0afr\0agrave\0alefsym\0aleph\0alpha\0amacr\0amalg\0amp\0and\0andand\0andd\0"
    "andslope\0andv\0ang\0ange\0angle\0angmsd\0angmsdaa\0angmsdab\0angmsdac\0angmsdad\0angmsdae\0"
    "angmsdaf\0angmsdag\0angmsdah\0angrt\0angrtvb\0angrtvbd\0angsph\0angst\0angzarr\0aogon\0aopf\0"
    "ap\0apE\0apacir\0ape\0apid\0apos\0approx\0approxeq\0aring\0ascr\0ast\0asymp\0asympeq\0atilde\0"
    "auml\0awconint\0awint\0bNot\0backcong\0backepsilon\0backprime\0backsim\0backsimeq\0barvee\0"
    "barwed\0barwedge\0bbrk\0bbrktbrk\0bcong\0bcy\0bdquo\0becaus\0because\0bemptyv\0bepsi\0bernou\0"
    "beta\0beth\0between\0bfr\0bigcap\0bigcirc\0bigcup\0bigodot\0bigoplus\0bigotimes\0bigsqcup\0"
    "bigstar\0bigtriangledown\0bigtriangleup\0biguplus\0bigvee\0bigwedge\0bkarow\0blacklozenge\0"
    "blacksquare\0blacktriangle\0blacktriangledown\0blacktriangleleft\0blacktriangleright\0blank\0"
    "blk12\0blk14\0blk34\0block\0bne\0bnequiv\0bnot\0bopf\0bot\0bottom\0bowtie\0boxDL\0boxDR\0"
    "boxDl\0boxDr\0boxH\0boxHD\0boxHU\0boxHd\0boxHu\0boxUL\0boxUR\0boxUl\0boxUr\0boxV\0boxVH\0"
    "boxVL\0boxVR\0boxVh\0boxVl\0boxVr\0boxbox\0boxdL\0boxdR\0boxdl\0boxdr\0boxh\0boxhD\0boxhU\0"
    "boxhd\0boxhu\0boxminus\0boxplus\0boxtimes\0boxuL\0boxuR\0boxul\0boxur\0boxv\0boxvH\0boxvL\0"
    "boxvR\0boxvh\0boxvl\0boxvr\0bprime\0breve\0brvbar\0bscr\0bsemi\0bsim\0bsime\0bsol\0bsolb\0"
    "bsolhsub\0bull\0bullet\0bump\0bumpE\0bumpe\0bumpeq\0cacute\0cap\0capand\0capbrcup\0capcap\0"
    "capcup\0capdot\0caps\0caret\0caron\0ccaps\0ccaron\0ccedil\0ccirc\0ccups\0ccupssm\0cdot\0"
    "cedil\0cemptyv\0cent\0centerdot\0cfr\0chcy\0check\0checkmark\0chi\0cir\0cirE\0circ\0circeq\0"
    "circlearrowleft\0circlearrowright\0circledR\0circledS\0circledast\0circledcirc\0circleddash\0"
    "cire\0cirfnint\0cirmid\0cirscir\0clubs\0clubsuit\0colon\0colone\0coloneq\0comma\0commat\0"
    "comp\0compfn\0complement\0complexes\0cong\0congdot\0conint\0copf\0coprod\0copy\0copysr\0"
    "crarr\0cross\0cscr\0csub\0csube\0csup\0csupe\0ctdot\0cudarrl\0cudarrr\0cuepr\0cuesc\0cularr\0"
    "cularrp\0cup\0cupbrcap\0cupcap\0cupcup\0cupdot\0cupor\0cups\0curarr\0curarrm\0curlyeqprec\0"
    "curlyeqsucc\0curlyvee\0curlywedge\0curren\0curvearrowleft\0curvearrowright\0cuvee\0cuwed\0"
    "cwconint\0cwint\0cylcty\0dArr\0dHar\0dagger\0daleth\0darr\0dash\0dashv\0dbkarow\0dblac\0"
    "dcaron\0dcy\0dd\0ddagger\0ddarr\0ddotseq\0deg\0delta\0demptyv\0dfisht\0dfr\0dharl\0dharr\0"
    "diam\0diamond\0diamondsuit\0diams\0die\0digamma\0disin\0div\0divide\0divideontimes\0divonx\0"
    "djcy\0dlcorn\0dlcrop\0dollar\0dopf\0dot\0doteq\0doteqdot\0dotminus\0dotplus\0dotsquare\0"
    "doublebarwedge\0downarrow\0downdownarrows\0downharpoonleft\0downharpoonright\0drbkarow\0"
    "drcorn\0drcrop\0dscr\0dscy\0dsol\0dstrok\0dtdot\0dtri\0dtrif\0duarr\0duhar\0dwangle\0dzcy\0"
    "dzigrarr\0eDDot\0eDot\0eacute\0easter\0ecaron\0ecir\0ecirc\0ecolon\0ecy\0edot\0ee\0efDot\0"
    "efr\0eg\0egrave\0egs\0egsdot\0el\0elinters\0ell\0els\0elsdot\0emacr\0empty\0emptyset\0emptyv\0"
    "emsp\0emsp13\0emsp14\0eng\0ensp\0eogon\0eopf\0epar\0eparsl\0eplus\0epsi\0epsilon\0epsiv\0"
    "eqcirc\0eqcolon\0eqsim\0eqslantgtr\0eqslantless\0equals\0equest\0equiv\0equivDD\0eqvparsl\0"
    "erDot\0erarr\0escr\0esdot\0esim\0eta\0eth\0euml\0euro\0excl\0exist\0expectation\0"
    "exponentiale\0fallingdotseq\0fcy\0female\0ffilig\0fflig\0ffllig\0ffr\0filig\0fjlig\0flat\0"
    "fllig\0fltns\0fnof\0fopf\0forall\0fork\0forkv\0fpartint\0frac12\0frac13\0frac14\0frac15\0"
    "frac16\0frac18\0frac23\0frac25\0frac34\0frac35\0frac38\0frac45\0frac56\0frac58\0frac78\0"
    "frasl\0frown\0fscr\0gE\0gEl\0gacute\0gamma\0gammad\0gap\0gbreve\0gcirc\0gcy\0gdot\0ge\0gel\0"
    "geq\0geqq\0geqslant\0ges\0gescc\0gesdot\0gesdoto\0gesdotol\0gesl\0gesles\0gfr\0gg\0ggg\0"
    "gimel\0gjcy\0gl\0glE\0gla\0glj\0gnE\0gnap\0gnapprox\0gne\0gneq\0gneqq\0gnsim\0gopf\0grave\0"
    "gscr\0gsim\0gsime\0gsiml\0gt\0gtcc\0gtcir\0gtdot\0gtlPar\0gtquest\0gtrapprox\0gtrarr\0gtrdot\0"
    "gtreqless\0gtreqqless\0gtrless\0gtrsim\0gvertneqq\0gvnE\0hArr\0hairsp\0half\0hamilt\0hardcy\0"
    "harr\0harrcir\0harrw\0hbar\0hcirc\0hearts\0heartsuit\0hellip\0hercon\0hfr\0hksearow\0"
    "hkswarow\0hoarr\0homtht\0hookleftarrow\0hookrightarrow\0hopf\0horbar\0hscr\0hslash\0hstrok\0"
    "hybull\0hyphen\0iacute\0ic\0icirc\0icy\0iecy\0iexcl\0iff\0ifr\0igrave\0ii\0iiiint\0iiint\0"
    "iinfin\0iiota\0ijlig\0imacr\0image\0imagline\0imagpart\0imath\0imof\0imped\0in\0incare\0"
    "infin\0infintie\0inodot\0int\0intcal\0integers\0intercal\0intlarhk\0intprod\0iocy\0iogon\0"
    "iopf\0iota\0iprod\0iquest\0iscr\0isin\0isinE\0isindot\0isins\0isinsv\0isinv\0it\0itilde\0"
    "iukcy\0iuml\0jcirc\0jcy\0jfr\0jmath\0jopf\0jscr\0jsercy\0jukcy\0kappa\0kappav\0kcedil\0kcy\0"
    "kfr\0kgreen\0khcy\0kjcy\0kopf\0kscr\0lAarr\0lArr\0lAtail\0lBarr\0lE\0lEg\0lHar\0lacute\0"
    "laemptyv\0lagran\0lambda\0lang\0langd\0langle\0lap\0laquo\0larr\0larrb\0larrbfs\0larrfs\0"
    "larrhk\0larrlp\0larrpl\0larrsim\0larrtl\0lat\0latail\0late\0lates\0lbarr\0lbbrk\0lbrace\0"
    "lbrack\0lbrke\0lbrksld\0lbrkslu\0lcaron\0lcedil\0lceil\0lcub\0lcy\0ldca\0ldquo\0ldquor\0"
    "ldrdhar\0ldrushar\0ldsh\0le\0leftarrow\0leftarrowtail\0leftharpoondown\0leftharpoonup\0"
    "leftleftarrows\0leftrightarrow\0leftrightarrows\0leftrightharpoons\0leftrightsquigarrow\0"
    "leftthreetimes\0leg\0leq\0leqq\0leqslant\0les\0lescc\0lesdot\0lesdoto\0lesdotor\0lesg\0"
    "lesges\0lessapprox\0lessdot\0lesseqgtr\0lesseqqgtr\0lessgtr\0lesssim\0lfisht\0lfloor\0lfr\0"
    "lg\0lgE\0lhard\0lharu\0lharul\0lhblk\0ljcy\0ll\0llarr\0llcorner\0llhard\0lltri\0lmidot\0"
    "lmoust\0lmoustache\0lnE\0lnap\0lnapprox\0lne\0lneq\0lneqq\0lnsim\0loang\0loarr\0lobrk\0"
    "longleftarrow\0longleftrightarrow\0longmapsto\0longrightarrow\0looparrowleft\0looparrowright\0"
    "lopar\0lopf\0loplus\0lotimes\0lowast\0lowbar\0loz\0lozenge\0lozf\0lpar\0lparlt\0lrarr\0"
    "lrcorner\0lrhar\0lrhard\0lrm\0lrtri\0lsaquo\0lscr\0lsh\0lsim\0lsime\0lsimg\0lsqb\0lsquo\0"
    "lsquor\0lstrok\0lt\0ltcc\0ltcir\0ltdot\0lthree\0ltimes\0ltlarr\0ltquest\0ltrPar\0ltri\0ltrie\0"
    "ltrif\0lurdshar\0luruhar\0lvertneqq\0lvnE\0mDDot\0macr\0male\0malt\0maltese\0map\0mapsto\0"
    "mapstodown\0mapstoleft\0mapstoup\0marker\0mcomma\0mcy\0mdash\0measuredangle\0mfr\0mho\0micro\0"
    "mid\0midast\0midcir\0middot\0minus\0minusb\0minusd\0minusdu\0mlcp\0mldr\0mnplus\0models\0"
    "mopf\0mp\0mscr\0mstpos\0mu\0multimap\0mumap\0nGg\0nGt\0nGtv\0nLeftarrow\0nLeftrightarrow\0"
    "nLl\0nLt\0nLtv\0nRightarrow\0nVDash\0nVdash\0nabla\0nacute\0nang\0nap\0napE\0napid\0napos\0"
    "napprox\0natur\0natural\0naturals\0nbsp\0nbump\0nbumpe\0ncap\0ncaron\0ncedil\0ncong\0"
    "ncongdot\0ncup\0ncy\0ndash\0ne\0neArr\0nearhk\0nearr\0nearrow\0nedot\0nequiv\0nesear\0nesim\0"
    "nexist\0nexists\0nfr\0ngE\0nge\0ngeq\0ngeqq\0ngeqslant\0nges\0ngsim\0ngt\0ngtr\0nhArr\0nharr\0"
    "nhpar\0ni\0nis\0nisd\0niv\0njcy\0nlArr\0nlE\0nlarr\0nldr\0nle\0nleftarrow\0nleftrightarrow\0"
    "nleq\0nleqq\0nleqslant\0nles\0nless\0nlsim\0nlt\0nltri\0nltrie\0nmid\0nopf\0not\0notin\0"
    "notinE\0notindot\0notinva\0notinvb\0notinvc\0notni\0notniva\0notnivb\0notnivc\0npar\0"
    "nparallel\0nparsl\0npart\0npolint\0npr\0nprcue\0npre\0nprec\0npreceq\0nrArr\0nrarr\0nrarrc\0"
    "nrarrw\0nrightarrow\0nrtri\0nrtrie\0nsc\0nsccue\0nsce\0nscr\0nshortmid\0nshortparallel\0nsim\0"
    "nsime\0nsimeq\0nsmid\0nspar\0nsqsube\0nsqsupe\0nsub\0nsubE\0nsube\0nsubset\0nsubseteq\0"
    "nsubseteqq\0nsucc\0nsucceq\0nsup\0nsupE\0nsupe\0nsupset\0nsupseteq\0nsupseteqq\0ntgl\0ntilde\0"
    "ntlg\0ntriangleleft\0ntrianglelefteq\0ntriangleright\0ntrianglerighteq\0nu\0num\0numero\0"
    "numsp\0nvDash\0nvHarr\0nvap\0nvdash\0nvge\0nvgt\0nvinfin\0nvlArr\0nvle\0nvlt\0nvltrie\0"
    "nvrArr\0nvrtrie\0nvsim\0nwArr\0nwarhk\0nwarr\0nwarrow\0nwnear\0oS\0oacute\0oast\0ocir\0ocirc\0"
    "ocy\0odash\0odblac\0odiv\0odot\0odsold\0oelig\0ofcir\0ofr\0ogon\0ograve\0ogt\0ohbar\0ohm\0"
    "oint\0olarr\0olcir\0olcross\0oline\0olt\0omacr\0omega\0omicron\0omid\0ominus\0oopf\0opar\0"
    "operp\0oplus\0or\0orarr\0ord\0order\0orderof\0ordf\0ordm\0origof\0oror\0orslope\0orv\0oscr\0"
    "oslash\0osol\0otilde\0otimes\0otimesas\0ouml\0ovbar\0par\0para\0parallel\0parsim\0parsl\0"
    "part\0pcy\0percnt\0period\0permil\0perp\0pertenk\0pfr\0phi\0phiv\0phmmat\0phone\0pi\0"
    "pitchfork\0piv\0planck\0planckh\0plankv\0plus\0plusacir\0plusb\0pluscir\0plusdo\0plusdu\0"
    "pluse\0plusmn\0plussim\0plustwo\0pm\0pointint\0popf\0pound\0pr\0prE\0prap\0prcue\0pre\0prec\0"
    "precapprox\0preccurlyeq\0preceq\0precnapprox\0precneqq\0precnsim\0precsim\0prime\0primes\0"
    "prnE\0prnap\0prnsim\0prod\0profalar\0profline\0profsurf\0prop\0propto\0prsim\0prurel\0pscr\0"
    "psi\0puncsp\0qfr\0qint\0qopf\0qprime\0qscr\0quaternions\0quatint\0quest\0questeq\0quot\0"
    "rAarr\0rArr\0rAtail\0rBarr\0rHar\0race\0racute\0radic\0raemptyv\0rang\0rangd\0range\0rangle\0"
    "raquo\0rarr\0rarrap\0rarrb\0rarrbfs\0rarrc\0rarrfs\0rarrhk\0rarrlp\0rarrpl\0rarrsim\0rarrtl\0"
    "rarrw\0ratail\0ratio\0rationals\0rbarr\0rbbrk\0rbrace\0rbrack\0rbrke\0rbrksld\0rbrkslu\0"
    "rcaron\0rcedil\0rceil\0rcub\0rcy\0rdca\0rdldhar\0rdquo\0rdquor\0rdsh\0real\0realine\0"
    "realpart\0reals\0rect\0reg\0rfisht\0rfloor\0rfr\0rhard\0rharu\0rharul\0rho\0rhov\0rightarrow\0"
    "rightarrowtail\0rightharpoondown\0rightharpoonup\0rightleftarrows\0rightleftharpoons\0"
    "rightrightarrows\0rightsquigarrow\0rightthreetimes\0ring\0risingdotseq\0rlarr\0rlhar\0rlm\0"
    "rmoust\0rmoustache\0rnmid\0roang\0roarr\0robrk\0ropar\0ropf\0roplus\0rotimes\0rpar\0rpargt\0"
    "rppolint\0rrarr\0rsaquo\0rscr\0rsh\0rsqb\0rsquo\0rsquor\0rthree\0rtimes\0rtri\0rtrie\0rtrif\0"
    "rtriltri\0ruluhar\0rx\0sacute\0sbquo\0sc\0scE\0scap\0scaron\0sccue\0sce\0scedil\0scirc\0scnE\0"
    "scnap\0scnsim\0scpolint\0scsim\0scy\0sdot\0sdotb\0sdote\0seArr\0searhk\0searr\0searrow\0sect\0"
    "semi\0seswar\0setminus\0setmn\0sext\0sfr\0sfrown\0sharp\0shchcy\0shcy\0shortmid\0"
    "shortparallel\0shy\0sigma\0sigmaf\0sigmav\0sim\0simdot\0sime\0simeq\0simg\0simgE\0siml\0"
    "simlE\0simne\0simplus\0simrarr\0slarr\0smallsetminus\0smashp\0smeparsl\0smid\0smile\0smt\0"
    "smte\0smtes\0softcy\0sol\0solb\0solbar\0sopf\0spades\0spadesuit\0spar\0sqcap\0sqcaps\0sqcup\0"
    "sqcups\0sqsub\0sqsube\0sqsubset\0sqsubseteq\0sqsup\0sqsupe\0sqsupset\0sqsupseteq\0squ\0"
    "square\0squarf\0squf\0srarr\0sscr\0ssetmn\0ssmile\0sstarf\0star\0starf\0straightepsilon\0"
    "straightphi\0strns\0sub\0subE\0subdot\0sube\0subedot\0submult\0subnE\0subne\0subplus\0"
    "subrarr\0subset\0subseteq\0subseteqq\0subsetneq\0subsetneqq\0subsim\0subsub\0subsup\0succ\0"
    "succapprox\0succcurlyeq\0succeq\0succnapprox\0succneqq\0succnsim\0succsim\0sum\0sung\0sup\0"
    "sup1\0sup2\0sup3\0supE\0supdot\0supdsub\0supe\0supedot\0suphsol\0suphsub\0suplarr\0supmult\0"
    "supnE\0supne\0supplus\0supset\0supseteq\0supseteqq\0supsetneq\0supsetneqq\0supsim\0supsub\0"
    "supsup\0swArr\0swarhk\0swarr\0swarrow\0swnwar\0szlig\0target\0tau\0tbrk\0tcaron\0tcedil\0tcy\0"
    "tdot\0telrec\0tfr\0there4\0therefore\0theta\0thetasym\0thetav\0thickapprox\0thicksim\0thinsp\0"
    "thkap\0thksim\0thorn\0tilde\0times\0timesb\0timesbar\0timesd\0tint\0toea\0top\0topbot\0"
    "topcir\0topf\0topfork\0tosa\0tprime\0trade\0triangle\0triangledown\0triangleleft\0"
    "trianglelefteq\0triangleq\0triangleright\0trianglerighteq\0tridot\0trie\0triminus\0triplus\0"
    "trisb\0tritime\0trpezium\0tscr\0tscy\0tshcy\0tstrok\0twixt\0twoheadleftarrow\0"
    "twoheadrightarrow\0uArr\0uHar\0uacute\0uarr\0ubrcy\0ubreve\0ucirc\0ucy\0udarr\0udblac\0udhar\0"
    "ufisht\0ufr\0ugrave\0uharl\0uharr\0uhblk\0ulcorn\0ulcorner\0ulcrop\0ultri\0umacr\0uml\0uogon\0"
    "uopf\0uparrow\0updownarrow\0upharpoonleft\0upharpoonright\0uplus\0upsi\0upsih\0upsilon\0"
    "upuparrows\0urcorn\0urcorner\0urcrop\0uring\0urtri\0uscr\0utdot\0utilde\0utri\0utrif\0uuarr\0"
    "uuml\0uwangle\0vArr\0vBar\0vBarv\0vDash\0vangrt\0varepsilon\0varkappa\0varnothing\0varphi\0"
    "varpi\0varpropto\0varr\0varrho\0varsigma\0varsubsetneq\0varsubsetneqq\0varsupsetneq\0"
    "varsupsetneqq\0vartheta\0vartriangleleft\0vartriangleright\0vcy\0vdash\0vee\0veebar\0veeeq\0"
    "vellip\0verbar\0vert\0vfr\0vltri\0vnsub\0vnsup\0vopf\0vprop\0vrtri\0vscr\0vsubnE\0vsubne\0"
    "vsupnE\0vsupne\0vzigzag\0wcirc\0wedbar\0wedge\0wedgeq\0weierp\0wfr\0wopf\0wp\0wr\0wreath\0"
    "wscr\0xcap\0xcirc\0xcup\0xdtri\0xfr\0xhArr\0xharr\0xi\0xlArr\0xlarr\0xmap\0xnis\0xodot\0xopf\0"
    "xoplus\0xotime\0xrArr\0xrarr\0xscr\0xsqcup\0xuplus\0xutri\0xvee\0xwedge\0yacute\0yacy\0ycirc\0"
    "ycy\0yen\0yfr\0yicy\0yopf\0yscr\0yucy\0yuml\0zacute\0zcaron\0zcy\0zdot\0zeetrf\0zeta\0zfr\0"
    "zhcy\0zigrarr\0zopf\0zscr\0zwj\0zwnj\0"
;

/* Where each name starts. */
const uint16_t entity_starts[] = {
    0, 6, 10, 17, 24, 30, 34, 38, 45, 51, 57, 61, 67, 72, 86, 92, 97, 104, 111, 116, 126, 131, 138,
    142, 150, 161, 166, 170, 175, 181, 186, 193, 198, 203, 210, 214, 235, 243, 250, 257, 263, 271,
    276, 284, 294, 298, 302, 312, 324, 335, 347, 372, 394, 410, 416, 423, 433, 440, 456, 461, 471,
    503, 509, 514, 518, 525, 528, 537, 542, 547, 552, 559, 564, 570, 577, 581, 585, 591, 595, 612,
    627, 650, 667, 684, 692, 706, 711, 715, 722, 731, 753, 763, 779, 795, 816, 830, 850, 875, 896,
    913, 928, 942, 960, 978, 988, 1001, 1018, 1028, 1048, 1066, 1081, 1099, 1118, 1134, 1153, 1161,
    1174, 1184, 1189, 1196, 1200, 1204, 1211, 1218, 1224, 1228, 1233, 1237, 1244, 1252, 1258, 1275,
    1296, 1302, 1307, 1315, 1321, 1332, 1344, 1349, 1354, 1358, 1363, 1370, 1383, 1387, 1391, 1409,
    1431, 1436, 1443, 1454, 1459, 1464, 1467, 1473, 1480, 1487, 1494, 1500, 1504, 1509, 1513, 1516,
    1521, 1534, 1551, 1568, 1583, 1595, 1613, 1626, 1631, 1634, 1641, 1647, 1651, 1657, 1661, 1674,
    1679, 1694, 1699, 1706, 1719, 1729, 1734, 1740, 1745, 1752, 1758, 1762, 1767, 1771, 1778, 1781,
    1787, 1798, 1806, 1810, 1819, 1832, 1847, 1862, 1868, 1873, 1878, 1883, 1890, 1896, 1901, 1907,
    1911, 1915, 1920, 1925, 1932, 1938, 1943, 1948, 1954, 1961, 1965, 1969, 1974, 1979, 1984, 1987,
    1994, 2001, 2006, 2017, 2022, 2029, 2036, 2040, 2057, 2067, 2080, 2100, 2112, 2130, 2148, 2163,
    2181, 2191, 2206, 2222, 2230, 2243, 2257, 2270, 2286, 2304, 2321, 2337, 2350, 2366, 2377, 2391,
    2401, 2416, 2433, 2447, 2459, 2468, 2483, 2493, 2497, 2500, 2511, 2518, 2532, 2551, 2566, 2580,
    2599, 2614, 2619, 2634, 2650, 2655, 2659, 2666, 2669, 2673, 2677, 2689, 2699, 2703, 2713, 2718,
    2723, 2726, 2731, 2738, 2745, 2752, 2756, 2776, 2795, 2813, 2835, 2856, 2871, 2879, 2883, 2891,
    2908, 2913, 2917, 2930, 2940, 2961, 2972, 2981, 2995, 3005, 3016, 3032, 3052, 3070, 3085, 3106,
    3122, 3138, 3151, 3167, 3186, 3207, 3215, 3228, 3243, 3255, 3273, 3286, 3310, 3328, 3340, 3357,
    3379, 3397, 3414, 3434, 3456, 3472, 3493, 3511, 3534, 3544, 3559, 3571, 3588, 3610, 3627, 3639,
    3656, 3665, 3679, 3697, 3711, 3726, 3731, 3738, 3741, 3747, 3754, 3760, 3764, 3771, 3775, 3782,
    3788, 3794, 3802, 3807, 3828, 3843, 3846, 3851, 3858, 3865, 3872, 3877, 3885, 3895, 3907, 3923,
    3932, 3936, 3940, 3944, 3947, 3957, 3971, 3976, 3979, 3988, 4002, 4021, 4035, 4041, 4049, 4060,
    4073, 4078, 4082, 4087, 4091, 4096, 4101, 4107, 4111, 4118, 4123, 4128, 4135, 4142, 4149, 4153,
    4156, 4171, 4190, 4211, 4215, 4219, 4237, 4248, 4262, 4282, 4295, 4314, 4333, 4349, 4368, 4379,
    4388, 4402, 4417, 4431, 4448, 4467, 4485, 4502, 4516, 4533, 4545, 4560, 4571, 4576, 4589, 4601,
    4606, 4610, 4622, 4629, 4634, 4641, 4648, 4651, 4658, 4665, 4671, 4675, 4679, 4694, 4709, 4725,
    4738, 4744, 4756, 4761, 4766, 4773, 4792, 4805, 4823, 4838, 4858, 4870, 4875, 4880, 4884, 4891,
    4903, 4912, 4926, 4945, 4959, 4968, 4972, 4976, 4985, 4999, 5006, 5012, 5018, 5024, 5029, 5033,
    5037, 5044, 5051, 5055, 5059, 5069, 5075, 5086, 5096, 5102, 5113, 5128, 5139, 5144, 5154, 5159,
    5166, 5173, 5178, 5187, 5193, 5200, 5206, 5210, 5217, 5221, 5228, 5234, 5243, 5254, 5267, 5284,
    5290, 5300, 5306, 5311, 5319, 5330, 5347, 5359, 5373, 5379, 5390, 5398, 5410, 5425, 5441, 5446,
    5454, 5460, 5465, 5472, 5477, 5483, 5488, 5492, 5498, 5505, 5509, 5516, 5521, 5533, 5546, 5564,
    5578, 5592, 5596, 5601, 5606, 5613, 5619, 5625, 5629, 5634, 5639, 5643, 5646, 5651, 5656, 5661,
    5666, 5671, 5678, 5684, 5688, 5692, 5697, 5702, 5707, 5712, 5719, 5726, 5730, 5735, 5750, 5755,
    5759, 5764, 5769, 5776, 5783, 5786, 5790, 5794, 5800, 5806, 5810, 5816, 5819, 5823, 5830, 5838,
    5844, 5850, 5856, 5862, 5866, 5870, 5877, 5882, 5891, 5896, 5900, 5905, 5911, 5918, 5927, 5936,
    5945, 5954, 5963, 5972, 5981, 5990, 5996, 6004, 6013, 6020, 6026, 6034, 6040, 6045, 6048, 6052,
    6059, 6063, 6068, 6073, 6080, 6089, 6095, 6100, 6104, 6110, 6118, 6125, 6130, 6139, 6145, 6150,
    6159, 6171, 6181, 6189, 6199, 6206, 6213, 6222, 6227, 6236, 6242, 6246, 6252, 6259, 6267, 6275,
    6281, 6288, 6293, 6298, 6306, 6310, 6317, 6325, 6332, 6340, 6349, 6359, 6368, 6376, 6392, 6406,
    6415, 6422, 6431, 6438, 6451, 6463, 6477, 6495, 6513, 6532, 6538, 6544, 6550, 6556, 6562, 6566,
    6574, 6579, 6584, 6588, 6595, 6602, 6608, 6614, 6620, 6626, 6631, 6637, 6643, 6649, 6655, 6661,
    6667, 6673, 6679, 6684, 6690, 6696, 6702, 6708, 6714, 6720, 6727, 6733, 6739, 6745, 6751, 6756,
    6762, 6768, 6774, 6780, 6789, 6797, 6806, 6812, 6818, 6824, 6830, 6835, 6841, 6847, 6853, 6859,
    6865, 6871, 6878, 6884, 6891, 6896, 6902, 6907, 6913, 6918, 6924, 6933, 6938, 6945, 6950, 6956,
    6962, 6969, 6976, 6980, 6987, 6996, 7003, 7010, 7017, 7022, 7028, 7034, 7040, 7047, 7054, 7060,
    7066, 7074, 7079, 7085, 7093, 7098, 7108, 7112, 7117, 7123, 7133, 7137, 7141, 7146, 7151, 7158,
    7174, 7191, 7200, 7209, 7220, 7232, 7244, 7249, 7258, 7265, 7273, 7279, 7288, 7294, 7301, 7309,
    7315, 7322, 7327, 7334, 7345, 7355, 7360, 7368, 7375, 7380, 7387, 7392, 7399, 7405, 7411, 7416,
    7421, 7427, 7432, 7438, 7444, 7452, 7460, 7466, 7472, 7479, 7487, 7491, 7500, 7507, 7514, 7521,
    7527, 7532, 7539, 7547, 7559, 7571, 7580, 7591, 7598, 7613, 7629, 7635, 7641, 7650, 7656, 7663,
    7668, 7673, 7680, 7687, 7692, 7697, 7703, 7711, 7717, 7724, 7728, 7731, 7739, 7745, 7753, 7757,
    7763, 7771, 7778, 7782, 7788, 7794, 7799, 7807, 7819, 7825, 7829, 7837, 7843, 7847, 7854, 7868,
    7875, 7880, 7887, 7894, 7901, 7906, 7910, 7916, 7925, 7934, 7942, 7952, 7967, 7977, 7992, 8008,
    8025, 8034, 8041, 8048, 8053, 8058, 8063, 8070, 8076, 8081, 8087, 8093, 8099, 8107, 8112, 8121,
    8127, 8132, 8139, 8146, 8153, 8158, 8164, 8171, 8175, 8180, 8183, 8189, 8193, 8196, 8203, 8207,
    8214, 8217, 8226, 8230, 8234, 8241, 8247, 8253, 8262, 8269, 8274, 8281, 8288, 8292, 8297, 8303,
    8308, 8313, 8320, 8326, 8331, 8339, 8345, 8352, 8360, 8366, 8377, 8389, 8396, 8403, 8409, 8417,
    8426, 8432, 8438, 8443, 8449, 8454, 8458, 8462, 8467, 8472, 8477, 8483, 8495, 8508, 8522, 8526,
    8533, 8540, 8546, 8553, 8557, 8563, 8569, 8574, 8580, 8586, 8591, 8596, 8603, 8608, 8614, 8623,
    8630, 8637, 8644, 8651, 8658, 8665, 8672, 8679, 8686, 8693, 8700, 8707, 8714, 8721, 8728, 8734,
    8740, 8745, 8748, 8752, 8759, 8765, 8772, 8776, 8783, 8789, 8793, 8798, 8801, 8805, 8809, 8814,
    8823, 8827, 8833, 8840, 8848, 8857, 8862, 8869, 8873, 8876, 8880, 8886, 8891, 8894, 8898, 8902,
    8906, 8910, 8915, 8924, 8928, 8933, 8939, 8945, 8950, 8956, 8961, 8966, 8972, 8978, 8981, 8986,
    8992, 8998, 9005, 9013, 9023, 9030, 9037, 9047, 9058, 9066, 9073, 9083, 9088, 9093, 9100, 9105,
    9112, 9119, 9124, 9132, 9138, 9143, 9149, 9156, 9166, 9173, 9180, 9184, 9193, 9202, 9208, 9215,
    9229, 9244, 9249, 9256, 9261, 9268, 9275, 9282, 9289, 9296, 9299, 9305, 9309, 9314, 9320, 9324,
    9328, 9335, 9338, 9345, 9351, 9358, 9364, 9370, 9376, 9382, 9391, 9400, 9406, 9411, 9417, 9420,
    9427, 9433, 9442, 9449, 9453, 9460, 9469, 9478, 9487, 9495, 9500, 9506, 9511, 9516, 9522, 9529,
    9534, 9539, 9545, 9553, 9559, 9566, 9572, 9575, 9582, 9588, 9593, 9599, 9603, 9607, 9613, 9618,
    9623, 9630, 9636, 9642, 9649, 9656, 9660, 9664, 9671, 9676, 9681, 9686, 9691, 9697, 9702, 9709,
    9715, 9718, 9722, 9727, 9734, 9743, 9750, 9757, 9762, 9768, 9775, 9779, 9785, 9790, 9796, 9804,
    9811, 9818, 9825, 9832, 9840, 9847, 9851, 9858, 9863, 9869, 9875, 9881, 9888, 9895, 9901, 9909,
    9917, 9924, 9931, 9937, 9942, 9946, 9951, 9957, 9964, 9972, 9981, 9986, 9989, 9999, 10013,
    10029, 10043, 10058, 10073, 10089, 10107, 10127, 10142, 10146, 10150, 10155, 10164, 10168,
    10174, 10181, 10189, 10198, 10203, 10210, 10221, 10229, 10239, 10250, 10258, 10266, 10273,
    10280, 10284, 10287, 10291, 10297, 10303, 10310, 10316, 10321, 10324, 10330, 10339, 10346,
    10352, 10359, 10366, 10377, 10381, 10386, 10395, 10399, 10404, 10410, 10416, 10422, 10428,
    10434, 10448, 10467, 10478, 10493, 10507, 10522, 10528, 10533, 10540, 10548, 10555, 10562,
    10566, 10574, 10579, 10584, 10591, 10597, 10606, 10612, 10619, 10623, 10629, 10636, 10641,
    10645, 10650, 10656, 10662, 10667, 10673, 10680, 10687, 10690, 10695, 10701, 10707, 10714,
    10721, 10728, 10736, 10743, 10748, 10754, 10760, 10769, 10777, 10787, 10792, 10798, 10803,
    10808, 10813, 10821, 10825, 10832, 10843, 10854, 10863, 10870, 10877, 10881, 10887, 10901,
    10905, 10909, 10915, 10919, 10926, 10933, 10940, 10946, 10953, 10960, 10968, 10973, 10978,
    10985, 10992, 10997, 11000, 11005, 11012, 11015, 11024, 11030, 11034, 11038, 11043, 11054,
    11070, 11074, 11078, 11083, 11095, 11102, 11109, 11115, 11122, 11127, 11131, 11136, 11142,
    11148, 11156, 11162, 11170, 11179, 11184, 11190, 11197, 11202, 11209, 11216, 11222, 11231,
    11236, 11240, 11246, 11249, 11255, 11262, 11268, 11276, 11282, 11289, 11296, 11302, 11309,
    11317, 11321, 11325, 11329, 11334, 11340, 11350, 11355, 11361, 11365, 11370, 11376, 11382,
    11388, 11391, 11395, 11400, 11404, 11409, 11415, 11419, 11425, 11430, 11434, 11445, 11461,
    11466, 11472, 11482, 11487, 11493, 11499, 11503, 11509, 11516, 11521, 11526, 11530, 11536,
    11543, 11552, 11560, 11568, 11576, 11582, 11590, 11598, 11606, 11611, 11621, 11628, 11634,
    11642, 11646, 11653, 11658, 11664, 11672, 11678, 11684, 11691, 11698, 11710, 11716, 11723,
    11727, 11734, 11739, 11744, 11754, 11769, 11774, 11780, 11787, 11793, 11799, 11807, 11815,
    11820, 11826, 11832, 11840, 11850, 11861, 11867, 11875, 11880, 11886, 11892, 11900, 11910,
    11921, 11926, 11933, 11938, 11952, 11968, 11983, 12000, 12003, 12007, 12014, 12020, 12027,
    12034, 12039, 12046, 12051, 12056, 12064, 12071, 12076, 12081, 12089, 12096, 12104, 12110,
    12116, 12123, 12129, 12137, 12144, 12147, 12154, 12159, 12164, 12170, 12174, 12180, 12187,
    12192, 12197, 12204, 12210, 12216, 12220, 12225, 12232, 12236, 12242, 12246, 12251, 12257,
    12263, 12271, 12277, 12281, 12287, 12293, 12301, 12306, 12313, 12318, 12323, 12329, 12335,
    12338, 12344, 12348, 12354, 12362, 12367, 12372, 12379, 12384, 12392, 12396, 12401, 12408,
    12413, 12420, 12427, 12436, 12441, 12447, 12451, 12456, 12465, 12472, 12478, 12483, 12487,
    12494, 12501, 12508, 12513, 12521, 12525, 12529, 12534, 12541, 12547, 12550, 12560, 12564,
    12571, 12579, 12586, 12591, 12600, 12606, 12614, 12621, 12628, 12634, 12641, 12649, 12657,
    12660, 12669, 12674, 12680, 12683, 12687, 12692, 12698, 12702, 12707, 12718, 12730, 12737,
    12749, 12758, 12767, 12775, 12781, 12788, 12793, 12799, 12806, 12811, 12820, 12829, 12838,
    12843, 12850, 12856, 12863, 12868, 12872, 12879, 12883, 12888, 12893, 12900, 12905, 12917,
    12925, 12931, 12939, 12944, 12950, 12955, 12962, 12968, 12973, 12978, 12985, 12991, 13000,
    13005, 13011, 13017, 13024, 13030, 13035, 13042, 13048, 13056, 13062, 13069, 13076, 13083,
    13090, 13098, 13105, 13111, 13118, 13124, 13134, 13140, 13146, 13153, 13160, 13166, 13174,
    13182, 13189, 13196, 13202, 13207, 13211, 13216, 13224, 13230, 13237, 13242, 13247, 13255,
    13264, 13270, 13275, 13279, 13286, 13293, 13297, 13303, 13309, 13316, 13320, 13325, 13336,
    13351, 13368, 13383, 13399, 13417, 13434, 13450, 13466, 13471, 13484, 13490, 13496, 13500,
    13507, 13518, 13524, 13530, 13536, 13542, 13548, 13553, 13560, 13568, 13573, 13580, 13589,
    13595, 13602, 13607, 13611, 13616, 13622, 13629, 13636, 13643, 13648, 13654, 13660, 13669,
    13677, 13680, 13687, 13693, 13696, 13700, 13705, 13712, 13718, 13722, 13729, 13735, 13740,
    13746, 13753, 13762, 13768, 13772, 13777, 13783, 13789, 13795, 13802, 13808, 13816, 13821,
    13826, 13833, 13842, 13848, 13853, 13857, 13864, 13870, 13877, 13882, 13891, 13905, 13909,
    13915, 13922, 13929, 13933, 13940, 13945, 13951, 13956, 13962, 13967, 13973, 13979, 13987,
    13995, 14001, 14015, 14022, 14031, 14036, 14042, 14046, 14051, 14057, 14064, 14068, 14073,
    14080, 14085, 14092, 14102, 14107, 14113, 14120, 14126, 14133, 14139, 14146, 14155, 14166,
    14172, 14179, 14188, 14199, 14203, 14210, 14217, 14222, 14228, 14233, 14240, 14247, 14254,
    14259, 14265, 14281, 14293, 14299, 14303, 14308, 14315, 14320, 14328, 14336, 14342, 14348,
    14356, 14364, 14371, 14380, 14390, 14400, 14411, 14418, 14425, 14432, 14437, 14448, 14460,
    14467, 14479, 14488, 14497, 14505, 14509, 14514, 14518, 14523, 14528, 14533, 14538, 14545,
    14553, 14558, 14566, 14574, 14582, 14590, 14598, 14604, 14610, 14618, 14625, 14634, 14644,
    14654, 14665, 14672, 14679, 14686, 14692, 14699, 14705, 14713, 14720, 14726, 14733, 14737,
    14742, 14749, 14756, 14760, 14765, 14772, 14776, 14783, 14793, 14799, 14808, 14815, 14827,
    14836, 14843, 14849, 14856, 14862, 14868, 14874, 14881, 14890, 14897, 14902, 14907, 14911,
    14918, 14925, 14930, 14938, 14943, 14950, 14956, 14965, 14978, 14991, 15006, 15016, 15030,
    15046, 15053, 15058, 15067, 15075, 15081, 15089, 15098, 15103, 15108, 15114, 15121, 15127,
    15144, 15162, 15167, 15172, 15179, 15184, 15190, 15197, 15203, 15207, 15213, 15220, 15226,
    15233, 15237, 15244, 15250, 15256, 15262, 15269, 15278, 15285, 15291, 15297, 15301, 15307,
    15312, 15320, 15332, 15346, 15361, 15367, 15372, 15378, 15386, 15397, 15404, 15413, 15420,
    15426, 15432, 15437, 15443, 15450, 15455, 15461, 15467, 15472, 15480, 15485, 15490, 15496,
    15502, 15509, 15520, 15529, 15540, 15547, 15553, 15563, 15568, 15575, 15584, 15597, 15611,
    15624, 15638, 15647, 15663, 15680, 15684, 15690, 15694, 15701, 15707, 15714, 15721, 15726,
    15730, 15736, 15742, 15748, 15753, 15759, 15765, 15770, 15777, 15784, 15791, 15798, 15806,
    15812, 15819, 15825, 15832, 15839, 15843, 15848, 15851, 15854, 15861, 15866, 15871, 15877,
    15882, 15888, 15892, 15898, 15904, 15907, 15913, 15919, 15924, 15929, 15935, 15940, 15947,
    15954, 15960, 15966, 15971, 15978, 15985, 15991, 15996, 16003, 16010, 16015, 16021, 16025,
    16029, 16033, 16038, 16043, 16048, 16053, 16058, 16065, 16072, 16076, 16081, 16088, 16093,
    16097, 16102, 16110, 16115, 16120, 16124,
};
const size_t entity_count = sizeof entity_starts / sizeof *entity_starts;

/* Code point << 2 | ENTITY_ bits. */
const uint32_t entity_values[] = {
    0x319, 0x99, 0x305, 0x408, 0x309, 0x1040, 0x75410, 0x301, 0xE44, 0x400, 0xA94C, 0x410, 0x754E0,
    0x8184, 0x315, 0x75270, 0x8950, 0x30D, 0x311, 0x8858, 0xAB9C, 0x8C18, 0x1044, 0x88D4, 0x84B0,
    0xE48, 0x75414, 0x754E4, 0xB60, 0x84B0, 0x8938, 0x109C, 0x2A5, 0x418, 0x8B48, 0x8514, 0x84B4,
    0x430, 0x31D, 0x420, 0x88C0, 0x428, 0x2E0, 0x2DC, 0x84B4, 0xE9C, 0x8A64, 0x8A58, 0x8A54,
    0x8A5C, 0x88C8, 0x8074, 0x8064, 0x88DC, 0xA9D0, 0x8984, 0x88BC, 0x88B8, 0x8408, 0x8840, 0x88CC,
    0xA8BC, 0x75278, 0x8B4C, 0x8934, 0x8514, 0xA444, 0x1008, 0x1014, 0x103C, 0x8084, 0x8684,
    0xAB90, 0x438, 0x1050, 0x881C, 0xE50, 0x7541C, 0x2D0, 0xB64, 0xB74, 0x180, 0xB70, 0x8B10,
    0x8518, 0x754EC, 0x2A0, 0x8370, 0x8940, 0x88BC, 0x2A0, 0x874C, 0x8740, 0x8750, 0xAB90, 0x9FE0,
    0x9FE8, 0x9FE4, 0x8748, 0x8AA0, 0x8744, 0x8754, 0x8894, 0x864C, 0xA44C, 0x87D4, 0xC44, 0xA540,
    0xA578, 0x86F4, 0xA558, 0xA57C, 0x8704, 0xA55C, 0x8A90, 0x869C, 0x874C, 0x7527C, 0x440, 0x528,
    0x341, 0x325, 0x468, 0x329, 0x10B4, 0x458, 0x75420, 0x321, 0x8820, 0x448, 0x97EC, 0x96AC,
    0x460, 0x754F0, 0xE54, 0xA9D4, 0x8908, 0x8730, 0x84C0, 0xA9CC, 0xE5C, 0x32D, 0x880C, 0x851C,
    0x1090, 0x75424, 0x97F0, 0x96A8, 0x754F4, 0x8800, 0x84C4, 0x84C4, 0x100C, 0xF9, 0xE4C, 0xF70,
    0x478, 0x488, 0x470, 0x104C, 0x480, 0x75428, 0x8B64, 0x754F8, 0x8994, 0x8B6C, 0x899C, 0xAA88,
    0x89DC, 0xA9F8, 0x89CC, 0x75288, 0x89AC, 0x10A8, 0xB1C, 0x178, 0x490, 0x8430, 0x842C, 0x8434,
    0x9400, 0x842C, 0x498, 0x8938, 0x893C, 0x1054, 0x4C8, 0x1004, 0x335, 0x339, 0x1060, 0x4C0,
    0x8444, 0x331, 0x8444, 0x4A8, 0x8520, 0x8748, 0x88B0, 0x88AC, 0x8B08, 0x818C, 0x8188, 0x4B8,
    0x75500, 0xE64, 0x8440, 0x4A0, 0x1018, 0x33D, 0x4D0, 0x1064, 0x75434, 0x75504, 0x75294, 0x1020,
    0x1010, 0x1094, 0x1030, 0xE68, 0x4D8, 0x1068, 0x75438, 0x75508, 0x75298, 0x1024, 0xF1, 0x4E4,
    0xE6C, 0x9FA8, 0x8448, 0x8678, 0x4F4, 0x4EC, 0x106C, 0x9FA0, 0x8640, 0x8790, 0x8718, 0x8C20,
    0x9F98, 0xA584, 0x870C, 0xA564, 0x8C28, 0x8650, 0xA538, 0x8A8C, 0x8690, 0xA568, 0x8AC8, 0xA73C,
    0x8AD0, 0xA544, 0xA580, 0x86FC, 0xA560, 0x86F0, 0xA548, 0x8740, 0x8750, 0x8B68, 0x8998, 0x89D8,
    0xAA84, 0xA9F4, 0x89C8, 0x7543C, 0x8B60, 0x8768, 0x4FC, 0x9FD4, 0x9FDC, 0x9FD8, 0x9FE0, 0x9FE8,
    0x9FE4, 0x7550C, 0x8664, 0x8660, 0x8448, 0x86C0, 0x504, 0x89A8, 0xA414, 0x1070, 0x817C, 0x84CC,
    0x75440, 0x884C, 0x75510, 0x84CC, 0xE70, 0x1028, 0x50C, 0x51C, 0x514, 0x1074, 0x802C, 0x802C,
    0x802C, 0x802C, 0x89AC, 0x89A8, 0x28, 0x75444, 0x8180, 0x280, 0x8454, 0xABB0, 0x8988, 0x89B4,
    0x8898, 0x8824, 0x8980, 0x8908, 0x8810, 0x89BC, 0x89C4, 0x899C, 0x89AC, 0x89E4, 0xA9F8, 0x89D4,
    0x8938, 0x893C, 0x8BA8, 0xA73C, 0x8BB0, 0x89B8, 0x89C0, 0x89E0, 0x89A8, 0xA9F4, 0x89D0, 0xAA88,
    0xAA84, 0x8A00, 0xAABC, 0x8B80, 0x8830, 0x8BAC, 0xA740, 0x8BB4, 0x8A3C, 0x8B88, 0x8A40, 0x8B8C,
    0x8A08, 0x8A20, 0x8A04, 0xAAC0, 0x8B84, 0x89FC, 0x8A0C, 0x8A24, 0x8904, 0x8910, 0x891C, 0x8924,
    0x8890, 0x752A4, 0x345, 0xE74, 0x548, 0x34D, 0x351, 0x1078, 0x540, 0x75448, 0x349, 0x530,
    0xEA4, 0xE7C, 0x75518, 0x8070, 0x8060, 0xA950, 0x752A8, 0x361, 0x355, 0xA8DC, 0x359, 0x80F8,
    0x8F78, 0x8ED0, 0x8F70, 0x8808, 0x107C, 0x7544C, 0xE98, 0xE80, 0x2C4, 0x8430, 0x8464, 0xAAEC,
    0x89E8, 0xAABC, 0x89F0, 0x89F8, 0x80CC, 0x883C, 0x88DC, 0x8874, 0x752AC, 0xEA0, 0x89, 0x75450,
    0x8468, 0x752B0, 0xA440, 0x2B9, 0x550, 0x9FAC, 0x8680, 0xA458, 0x560, 0x558, 0x1080, 0x8470,
    0x882C, 0x872C, 0xA5BC, 0x8470, 0xE84, 0x9FA4, 0x8648, 0x8794, 0x8710, 0x8C24, 0x9F9C, 0xA574,
    0x8708, 0xA554, 0x8C2C, 0x8A88, 0x8698, 0xA56C, 0x8ACC, 0xA740, 0x8AD4, 0xA53C, 0xA570, 0x86F8,
    0xA550, 0x8700, 0xA54C, 0x8748, 0x8474, 0xA5C0, 0x876C, 0x846C, 0x86C4, 0xA7D0, 0x10A4, 0x10A0,
    0x10B0, 0x568, 0xAAF0, 0x580, 0x578, 0x570, 0x1084, 0x75458, 0x864C, 0x8640, 0x8648, 0x8644,
    0xE8C, 0x8860, 0x75528, 0x8868, 0x9684, 0x8A4C, 0x8A3C, 0x8A44, 0x8A40, 0x8A48, 0x8A50,
    0x752B8, 0x8B18, 0x8B40, 0x8B40, 0x8A18, 0x89EC, 0xAAC0, 0x89F4, 0x89FC, 0x882C, 0x8844,
    0x8B44, 0x8A0C, 0x8A1C, 0x8B44, 0x379, 0x8488, 0x102C, 0x1098, 0x24, 0xE90, 0x590, 0x588,
    0x1088, 0x7545C, 0x88D0, 0xE60, 0x817C, 0x8024, 0x88F0, 0x890C, 0x8914, 0x8920, 0x7552C,
    0x836C, 0x752BC, 0x598, 0x369, 0x867C, 0xA524, 0x1038, 0x5B0, 0x36D, 0x108C, 0x5C0, 0x75460,
    0x365, 0x5A8, 0x17C, 0x8F7C, 0x8ED4, 0x8F74, 0x8B0C, 0x8A38, 0x5C8, 0x75530, 0x8644, 0xA448,
    0x8714, 0x8654, 0xA5B8, 0x8A94, 0x8694, 0x8744, 0x8754, 0x8658, 0x865C, 0xF48, 0xE94, 0x5B8,
    0x752C0, 0x5A0, 0x371, 0x8AAC, 0xABAC, 0x1048, 0x8AA4, 0xAB98, 0x8B04, 0x8058, 0x8058, 0x888C,
    0x1F0, 0x9D60, 0x8900, 0x8028, 0x75464, 0x75534, 0x752C4, 0x8AA8, 0x5D0, 0x8B00, 0x75468,
    0x75538, 0x752C8, 0x7546C, 0xE78, 0x7553C, 0x752CC, 0x10BC, 0x101C, 0x10B8, 0x375, 0x5D8,
    0x10AC, 0x75470, 0x75540, 0x752D0, 0x5E0, 0x1058, 0x5E4, 0x5F4, 0x105C, 0x5EC, 0x802C, 0xE58,
    0x84A0, 0x8490, 0x752D4, 0x387, 0x40E, 0x88FA, 0x88F8, 0x88FE, 0x38B, 0x2D3, 0x10C2, 0x39B,
    0x8186, 0x7547A, 0x383, 0x84D6, 0x84D6, 0xEC6, 0x406, 0xA8FE, 0x99, 0x889E, 0xA956, 0xA972,
    0xA962, 0xA96A, 0x8882, 0xA692, 0x8882, 0x8886, 0xA6A2, 0xA6A6, 0xA6AA, 0xA6AE, 0xA6B2, 0xA6B6,
    0xA6BA, 0xA6BE, 0x887E, 0x8AFA, 0xA676, 0x888A, 0x316, 0x8DF2, 0x416, 0x7554A, 0x8922, 0xA9C0,
    0xA9BE, 0x892A, 0x892E, 0x9E, 0x8922, 0x892A, 0x397, 0x752DA, 0xAA, 0x8922, 0x8936, 0x38F,
    0x393, 0x88CE, 0xA846, 0xABB4, 0x8932, 0xFDA, 0x80D6, 0x88F6, 0x8B36, 0x8AF6, 0x8C16, 0x8C16,
    0x8ED6, 0x8EDA, 0x8932, 0x10C6, 0x807A, 0x88D6, 0x88D6, 0xA6C2, 0xFDA, 0x84B2, 0xECA, 0x84DA,
    0x89B2, 0x7547E, 0x8B0A, 0x97BE, 0x8B0E, 0xA802, 0xA806, 0xA80A, 0xA81A, 0x9816, 0x96F6,
    0x96CE, 0xA812, 0x8B06, 0x8B02, 0xA436, 0xA7AE, 0x96AA, 0x96D2, 0x96FA, 0x970A, 0x96E2, 0x908E,
    0x964A, 0x9646, 0x964E, 0x9622, 0xF6, 0x8986, 0x8C42, 0x7554E, 0x8A96, 0x8A96, 0x8B22, 0x955C,
    0x9550, 0x9558, 0x954C, 0x9540, 0x9598, 0x95A4, 0x9590, 0x959C, 0x9574, 0x9568, 0x9570, 0x9564,
    0x9544, 0x95B0, 0x958C, 0x9580, 0x95AC, 0x9588, 0x957C, 0xA726, 0x9554, 0x9548, 0x9442, 0x9432,
    0x9402, 0x9594, 0x95A0, 0x94B2, 0x94D2, 0x8A7E, 0x8A7A, 0x8A82, 0x956C, 0x9560, 0x9462, 0x9452,
    0x940A, 0x95A8, 0x9584, 0x9578, 0x94F2, 0x9492, 0x9472, 0x80D6, 0xB62, 0x29B, 0x752DE, 0x813E,
    0x88F6, 0x8B36, 0x172, 0xA716, 0x9F22, 0x808A, 0x808A, 0x893A, 0xAAB8, 0x893E, 0x893E, 0x41E,
    0x88A6, 0xA912, 0xA926, 0xA92E, 0xA91E, 0xA902, 0x88A6, 0x8106, 0xB1E, 0xA936, 0x436, 0x39F,
    0x426, 0xA932, 0xA942, 0x42E, 0x2E3, 0xA6CA, 0x28B, 0x2DE, 0x75482, 0x111E, 0x9C4E, 0x9C4E,
    0xF1E, 0x972E, 0xA70C, 0xB1A, 0x895E, 0x86EA, 0x86EE, 0x2B8, 0x9320, 0x8A6E, 0x8A6A, 0x8A76,
    0x895E, 0xA842, 0xABBE, 0xA70A, 0x998E, 0x998E, 0xEA, 0x8952, 0x8952, 0xB2, 0x102, 0x8806,
    0x8862, 0x8806, 0x840A, 0x8916, 0xA9B6, 0x88BA, 0x75552, 0x8842, 0x2A5, 0x845C, 0x86D6, 0x9C5E,
    0x752E2, 0xAB3E, 0xAB46, 0xAB42, 0xAB4A, 0x8BBE, 0xA4E2, 0xA4D6, 0x8B7A, 0x8B7E, 0x86DA,
    0xA4F6, 0x88AA, 0xA922, 0xA91A, 0xA92A, 0x8A36, 0xA916, 0x88AA, 0x86DE, 0xA4F2, 0x8B7A, 0x8B7E,
    0x8B3A, 0x8B3E, 0x293, 0x86DA, 0x86DE, 0x8B3A, 0x8B3E, 0x88CA, 0x88C6, 0x8CB6, 0x874C, 0xA594,
    0x8082, 0x84E2, 0x864E, 0x8042, 0x8A8E, 0xA43E, 0xB76, 0x43E, 0x10D2, 0x8518, 0x8086, 0x872A,
    0xA9DE, 0x2C3, 0xED2, 0xA6C6, 0xA5FE, 0x75486, 0x870E, 0x870A, 0x8B12, 0x8B12, 0x999A, 0x999A,
    0x2A2, 0xF76, 0x8BCA, 0x3DE, 0x3DF, 0x8B1E, 0x8B1E, 0x114A, 0x8C7A, 0x8C36, 0x92, 0x75556,
    0xB66, 0x8942, 0x8946, 0x88E2, 0x8852, 0x8A86, 0x8C1A, 0x864E, 0x872A, 0x870E, 0x870A, 0xA442,
    0x8C7E, 0x8C32, 0x752E6, 0x1156, 0xA7DA, 0x446, 0x8BC6, 0x96FE, 0x96FA, 0x87D6, 0xA5BE, 0xA69A,
    0x117E, 0x9FFE, 0xA9DC, 0x8944, 0x3A7, 0xA9BA, 0x46E, 0x895A, 0x3AB, 0x8956, 0x1136, 0x45E,
    0x851E, 0x8948, 0x7548A, 0xAA6A, 0x3A3, 0xAA5A, 0xAA62, 0xAA66, 0x8F9E, 0x844E, 0xAA56, 0xAA5E,
    0x44E, 0x8816, 0x8816, 0x8816, 0x800E, 0x8012, 0x8016, 0x52C, 0x800A, 0x466, 0x7555A, 0x8B56,
    0xA78E, 0xA9C6, 0xED6, 0xED6, 0xFD6, 0x895A, 0x8956, 0x890A, 0xAA5A, 0xAA56, 0xF6, 0x897E,
    0x8986, 0xA9E0, 0xA796, 0x894C, 0xA5C6, 0x84BE, 0x8942, 0x890A, 0xEDE, 0x3C1, 0x3AF, 0x82B2,
    0x86, 0x880E, 0x84C2, 0x851E, 0x894A, 0x1112, 0x9902, 0x3EC0E, 0x3EC02, 0x3EC12, 0x7548E,
    0x3EC06, 0x19A, 0x99B6, 0x3EC0A, 0x96C6, 0x64A, 0x7555E, 0x8802, 0x8B52, 0xAB66, 0xA836, 0x2F7,
    0x854E, 0x2F3, 0x8556, 0x8566, 0x856E, 0x8552, 0x855A, 0x2FB, 0x855E, 0x8572, 0x8562, 0x856A,
    0x8576, 0x857A, 0x8112, 0x8C8A, 0x752EE, 0x899C, 0xAA30, 0x7D6, 0xECE, 0xF76, 0xAA1A, 0x47E,
    0x476, 0x10CE, 0x486, 0x8996, 0x8B6E, 0x8996, 0x899E, 0xA9FA, 0xA9FA, 0xAAA6, 0xAA02, 0xAA0A,
    0xAA12, 0x8B6E, 0xAA52, 0x75492, 0x89AE, 0x8B66, 0x84DE, 0x114E, 0x89DE, 0xAA48, 0xAA96,
    0xAA92, 0x89A4, 0xAA2A, 0xAA2A, 0xAA22, 0xAA22, 0x89A6, 0x8B9E, 0x75562, 0x182, 0x842A, 0x89CE,
    0xAA3A, 0xAA42, 0xF9, 0xAA9C, 0xA9E8, 0x8B5C, 0xA654, 0xA9F0, 0xAA18, 0xA5E0, 0x8B5C, 0x8B6C,
    0xAA30, 0x89DC, 0x89CC, 0x89A6, 0x89A4, 0x8750, 0x802A, 0x2F6, 0x842E, 0x112A, 0x8652, 0xA522,
    0x86B6, 0x843E, 0x496, 0x9996, 0x9996, 0x809A, 0x8AE6, 0x75496, 0xA496, 0xA49A, 0x87FE, 0x88EE,
    0x86A6, 0x86AA, 0x75566, 0x8056, 0x752F6, 0x843E, 0x49E, 0x810E, 0x8042, 0x3B7, 0x818E, 0x3BB,
    0x10E2, 0x10D6, 0x287, 0x8752, 0x7549A, 0x3B3, 0x8522, 0xA832, 0x88B6, 0xA772, 0x84A6, 0x4CE,
    0x4AE, 0x8446, 0x8442, 0x8446, 0x4C6, 0x8ADE, 0x6D6, 0x8822, 0x8416, 0x887A, 0xA776, 0x4C6,
    0x88AE, 0x8AEA, 0x8492, 0x8AEA, 0xA85E, 0xA8F2, 0x1146, 0x4BE, 0x7556A, 0xEE6, 0xA8F2, 0x2FF,
    0x752FA, 0x8822, 0x8BE4, 0x8BD6, 0x8BD2, 0x8BCE, 0x8822, 0x818A, 0x4A6, 0x115A, 0x3BF, 0x4D6,
    0x10E6, 0x7549E, 0x8DE, 0x7556E, 0x752FE, 0x1162, 0x1152, 0xEEA, 0xFC2, 0x4DE, 0x10EA, 0x754A2,
    0x4E2, 0x1116, 0x1172, 0x75572, 0x75302, 0x8768, 0x8740, 0xA46C, 0xA438, 0x8998, 0xAA2C,
    0xA588, 0x4EA, 0xA6D2, 0x844A, 0xEEE, 0x9FA2, 0xA646, 0x9FA2, 0xAA16, 0x2AF, 0x8642, 0x8792,
    0xA47E, 0xA476, 0x86A6, 0x86AE, 0xA4E6, 0xA5CE, 0x868A, 0xAAAE, 0xA466, 0xAAB6, 0xAAB6, 0xA432,
    0x9DCA, 0x1EE, 0x16E, 0xA62E, 0xA63E, 0xA636, 0x4FA, 0x4F2, 0x8C22, 0x1EE, 0x10EE, 0xA4DA,
    0x8072, 0x807A, 0xA59E, 0xA52E, 0x86CA, 0x8992, 0x8642, 0x868A, 0x86F6, 0x86F2, 0x871E, 0x8652,
    0x871A, 0x872E, 0x86B6, 0x8B2E, 0x8B6A, 0x8992, 0x899A, 0xA9F6, 0xA9F6, 0xAAA2, 0xA9FE, 0xAA06,
    0xAA0E, 0x8B6A, 0xAA4E, 0xAA16, 0x8B5A, 0x8B6A, 0xAA2E, 0x89DA, 0x89CA, 0xA5F2, 0x8C2A,
    0x754A6, 0x89DA, 0xAA44, 0x86F6, 0x86F2, 0xA5AA, 0x9612, 0x1166, 0x89AA, 0x871E, 0x8C7A,
    0xA5AE, 0x97EA, 0x502, 0x8EC2, 0x8EC2, 0x89A0, 0xAA26, 0xAA26, 0xAA1E, 0xAA1E, 0x89A2, 0x8B9A,
    0x9FB2, 0x87F6, 0x9F9A, 0x9FD6, 0x9FDE, 0x9FF2, 0x9FDA, 0x86AE, 0x86B2, 0xA616, 0x75576,
    0xA8B6, 0xA8D2, 0x885E, 0x17E, 0x972A, 0x972A, 0xA7AE, 0xA2, 0xA64E, 0x871A, 0x8C7E, 0x872E,
    0xA5B6, 0x803A, 0x8AFE, 0x80E6, 0x75306, 0x86C2, 0x89CA, 0xAA36, 0xAA3E, 0x16E, 0x8062, 0x806A,
    0x50A, 0xF1, 0xAA98, 0xA9E4, 0x8B58, 0x8B2C, 0x8B24, 0xA5D8, 0xA9EC, 0xA658, 0x970C, 0x8AD0,
    0x9708, 0xA52A, 0xA59A, 0x89A2, 0x89A0, 0x88E8, 0x2BF, 0x990A, 0x9C82, 0x9C82, 0x869A, 0x869A,
    0x869E, 0x8692, 0x8696, 0x96BA, 0xA8A6, 0x10F2, 0x8052, 0x8886, 0x754AA, 0x849E, 0x2D7, 0x888E,
    0xAA, 0xABC2, 0x2DF, 0x884A, 0x8A7E, 0x88E2, 0xA8AA, 0xAB6E, 0x809A, 0x884E, 0x8A9E, 0x7557A,
    0x884E, 0x7530A, 0x88FA, 0xEF2, 0x8AE2, 0x8AE2, 0x8B64, 0x89AC, 0x89AC, 0x8734, 0x8738, 0x8B60,
    0x89A8, 0x89A8, 0x873C, 0x8ABC, 0x8AB8, 0x881E, 0x512, 0x8882, 0x8926, 0xA9C0, 0x892E, 0x526,
    0x8926, 0x99BA, 0x99BA, 0x8456, 0x283, 0x893A, 0x893E, 0xA90E, 0x522, 0x51A, 0x891E, 0xA9B6,
    0xA90A, 0x10F6, 0x804E, 0x8982, 0x875C, 0xA492, 0x865E, 0x865E, 0x8942, 0x898A, 0xA4A2, 0x890A,
    0x8812, 0x8812, 0x754AE, 0x899C, 0x89C6, 0x89C6, 0x899E, 0xA9FA, 0xA9FA, 0x89D6, 0x89BE,
    0x89BE, 0x8738, 0x86BA, 0xABCA, 0x882E, 0x8BF2, 0x8BEA, 0x882E, 0x116A, 0x8734, 0x8998, 0x866A,
    0x8096, 0x89C2, 0x866A, 0x86BA, 0x89C2, 0x899A, 0xA9F6, 0xA9F6, 0x89BA, 0x89D2, 0x89BA, 0x8BAA,
    0x8BB2, 0x8892, 0x7557E, 0x2B3, 0x8826, 0x8BE4, 0x8BD6, 0x8826, 0x8BDE, 0x8BDA, 0x8832, 0x8832,
    0x8BFA, 0x8BF6, 0x889A, 0x889A, 0xABF6, 0x880A, 0xA852, 0x8A02, 0x8B82, 0xAABE, 0x8A02, 0xAABE,
    0x873C, 0x866E, 0xA4CE, 0x8676, 0x866E, 0x8BAE, 0x8BB6, 0x8A06, 0x8B86, 0xAAC2, 0x7530E,
    0x8892, 0x889A, 0x8906, 0x8912, 0x8912, 0x8892, 0x889A, 0x8B8A, 0x8B8E, 0x8A12, 0xAB14, 0x8A22,
    0x8A0A, 0x8A22, 0xAB16, 0x8A06, 0xAAC2, 0x8A16, 0xAB18, 0x8A26, 0x8A0E, 0x8A26, 0xAB1A, 0x89E6,
    0x3C7, 0x89E2, 0x8BAA, 0x8BB2, 0x8BAE, 0x8BB6, 0xEF6, 0x8E, 0x845A, 0x801E, 0x8AB4, 0xA410,
    0x8936, 0x8AB2, 0x8996, 0xFA, 0xA77A, 0xA408, 0x8992, 0xF2, 0x8AD2, 0xA40C, 0x8AD6, 0x88F2,
    0x8758, 0xA48E, 0x865A, 0x865A, 0xA49E, 0x9320, 0x3CF, 0x8A6E, 0x8A6A, 0x3D3, 0x10FA, 0x8A76,
    0x546, 0xA8E2, 0x8A66, 0xA6F2, 0x54E, 0xA6FE, 0x754B2, 0xB6E, 0x3CB, 0xA706, 0xA6D6, 0xEA6,
    0x88BA, 0x86EA, 0xA6FA, 0xA6EE, 0x80FA, 0xA702, 0x536, 0xF26, 0xEFE, 0xA6DA, 0x8A5A, 0x75582,
    0xA6DE, 0xA6E6, 0x8A56, 0x88A2, 0x86EE, 0xA976, 0x84D2, 0x84D2, 0x2AB, 0x2EB, 0x8ADA, 0xA95A,
    0xA95E, 0xA96E, 0x84D2, 0x3E3, 0x8A62, 0x3D7, 0x8A5E, 0xA8DA, 0x3DB, 0x8CF6, 0x8896, 0x2DB,
    0x8896, 0xABCE, 0xABF6, 0x880A, 0x10FE, 0x96, 0xBA, 0x80C2, 0x8A96, 0x80C6, 0x754B6, 0xF1A,
    0xF56, 0x84CE, 0x983A, 0xF02, 0x8B52, 0xF5A, 0x843E, 0x843A, 0x843E, 0xAE, 0xA88E, 0x8A7A,
    0xA88A, 0x8852, 0xA896, 0xA9CA, 0x2C7, 0xA89A, 0xA89E, 0x2C6, 0xA856, 0x75586, 0x28F, 0x89EA,
    0xAACC, 0xAADE, 0x89F2, 0xAABE, 0x89EA, 0xAADE, 0x89F2, 0xAABE, 0xAAE6, 0xAAD6, 0x8BA2, 0x89FA,
    0x80CA, 0x8466, 0xAAD4, 0xAAE6, 0x8BA2, 0x883E, 0x8CBA, 0x8C4A, 0x8C4E, 0x8876, 0x8876, 0x89FA,
    0x8AC2, 0x75316, 0xF22, 0x8022, 0x754BA, 0xA832, 0x7558A, 0x815E, 0x7531A, 0x8436, 0xA85A,
    0xFE, 0x897E, 0x89, 0x876C, 0x8748, 0xA470, 0xA43C, 0xA590, 0x88F6, 0x556, 0x886A, 0xA6CE,
    0x9FA6, 0xA64A, 0xA696, 0x9FA6, 0x2EF, 0x864A, 0xA5D6, 0x8796, 0xA482, 0xA4CE, 0xA47A, 0x86AA,
    0x86B2, 0xA516, 0xA5D2, 0x868E, 0x8676, 0xA46A, 0x88DA, 0x846A, 0xA436, 0x9DCE, 0x1F6, 0x176,
    0xA632, 0xA63A, 0xA642, 0x566, 0x55E, 0x8C26, 0x1F6, 0x1102, 0xA4DE, 0xA5A6, 0x8076, 0x8076,
    0x86CE, 0x8472, 0x846E, 0x8472, 0x8476, 0x96B6, 0x2B9, 0xA5F6, 0x8C2E, 0x754BE, 0x8706, 0x8702,
    0xA5B2, 0xF06, 0xFC6, 0x864A, 0x868E, 0x8706, 0x8702, 0x8712, 0x8732, 0x8726, 0x8676, 0x8B32,
    0xB6A, 0x894E, 0x8712, 0x8732, 0x803E, 0x8EC6, 0x8EC6, 0xABBA, 0x9FB6, 0x87FA, 0x9F9E, 0xA61A,
    0x7558E, 0xA8BA, 0xA8D6, 0xA6, 0xA652, 0xA84A, 0x8726, 0x80EA, 0x7531E, 0x86C6, 0x176, 0x8066,
    0x8066, 0x8B32, 0x8B2A, 0x96E6, 0x8AD6, 0x96E2, 0xA73A, 0xA5A2, 0x847A, 0x56E, 0x806A, 0x89EE,
    0xAAD0, 0xAAE2, 0x586, 0x89F6, 0xAAC2, 0x57E, 0x576, 0xAAD8, 0xAAEA, 0x8BA6, 0xA84E, 0x89FE,
    0x1106, 0x8B16, 0x8A86, 0xA99A, 0x8760, 0xA496, 0x8662, 0x8662, 0x29F, 0xEE, 0xA4A6, 0x885A,
    0x885A, 0x9CDA, 0x754C2, 0x8C8A, 0x99BE, 0x1126, 0x1122, 0x888E, 0x8896, 0x2B7, 0xF0E, 0xF0A,
    0xF0A, 0x88F2, 0xA9AA, 0x890E, 0x890E, 0xAA7A, 0xAA80, 0xAA76, 0xAA7C, 0x891A, 0xA892, 0xA5CA,
    0x8642, 0x885A, 0xA8CE, 0xA792, 0x888E, 0x8C8E, 0xAAAA, 0xAAB2, 0xAAB2, 0x1132, 0xBE, 0xA712,
    0x8CFE, 0x75592, 0x9982, 0x9982, 0x8896, 0x8A4E, 0x8A4E, 0x8A52, 0x8A52, 0x8A3E, 0x8A46,
    0x8A3E, 0x8A46, 0x8A42, 0x8A4A, 0x8A42, 0x8A4A, 0x9686, 0x9686, 0x96AA, 0x96AA, 0x864A,
    0x75322, 0x885A, 0x8C8E, 0x8B1A, 0x981A, 0x9816, 0xFD6, 0xF56, 0x2BE, 0x8A0A, 0xAB14, 0xAAF6,
    0x8A1A, 0xAB0E, 0xAB06, 0xAB2C, 0x8A2A, 0xAAFE, 0xA5E6, 0x8A0A, 0x8A1A, 0xAB16, 0x8A2A, 0xAB2E,
    0xAB1E, 0xAB56, 0xAB4E, 0x89EE, 0xAAE2, 0x89F6, 0xAAC2, 0xAAEA, 0xAADA, 0x8BA6, 0x89FE, 0x8846,
    0x99AA, 0x8A0E, 0x2E7, 0x2CB, 0x2CF, 0xAB18, 0xAAFA, 0xAB62, 0x8A1E, 0xAB12, 0x9F26, 0xAB5E,
    0xA5EE, 0xAB0A, 0xAB30, 0x8A2E, 0xAB02, 0x8A0E, 0x8A1E, 0xAB1A, 0x8A2E, 0xAB32, 0xAB22, 0xAB52,
    0xAB5A, 0x8764, 0xA49A, 0x8666, 0x8666, 0xA4AA, 0x37F, 0x8C5A, 0xF12, 0x8ED2, 0x596, 0x58E,
    0x110A, 0x836E, 0x8C56, 0x754C6, 0x88D2, 0x88D2, 0xEE2, 0xF46, 0xF46, 0x8922, 0x88F2, 0x8026,
    0x8922, 0x88F2, 0x3F9, 0xB72, 0x35F, 0x8A82, 0xA8C6, 0xA8C2, 0x88B6, 0xA4A2, 0x8A92, 0x8CDA,
    0xABC6, 0x75596, 0xAB6A, 0xA4A6, 0x80D2, 0x8488, 0x96D6, 0x96FE, 0x970E, 0x8AD2, 0x8972,
    0x96E6, 0x8AD6, 0x97B2, 0x8972, 0xA8EA, 0xA8E6, 0xA736, 0xA8EE, 0x8F8A, 0x75326, 0x111A,
    0x116E, 0x59E, 0x89B2, 0x867A, 0x8682, 0x8744, 0xA58C, 0x3EB, 0x8646, 0x117A, 0x5B6, 0x3EF,
    0x110E, 0x8716, 0x5C6, 0xA5BA, 0xA5FA, 0x754CA, 0x3E7, 0x86FE, 0x86FA, 0x9602, 0x8C72, 0x8C72,
    0x8C3E, 0x97E2, 0x5AE, 0x2A3, 0x5CE, 0x7559A, 0x8646, 0x8656, 0x86FE, 0x86FA, 0x8A3A, 0xF16,
    0xF4A, 0xF16, 0x8722, 0x8C76, 0x8C76, 0x8C3A, 0x5BE, 0x97E6, 0x7532A, 0x8BC2, 0x5A6, 0x96D6,
    0x96D2, 0x8722, 0x3F3, 0xA69E, 0x8754, 0xABA0, 0xABA4, 0x8AA0, 0xA672, 0xFD6, 0xFC2, 0x8816,
    0xF56, 0xF5A, 0x8876, 0x8656, 0xFC6, 0xF0A, 0x8A2A, 0xAB2E, 0x8A2E, 0xAB32, 0xF46, 0x8ACA,
    0x8ACE, 0x10CA, 0x8A8A, 0x88A2, 0x8AEE, 0x896A, 0x8BBA, 0x1F2, 0x1F2, 0x754CE, 0x8ACA, 0x8A0A,
    0x8A0E, 0x7559E, 0x8876, 0x8ACE, 0x7532E, 0xAB2C, 0x8A2A, 0xAB30, 0x8A2E, 0xA66A, 0x5D6,
    0xA97E, 0x889E, 0x8966, 0x8462, 0x754D2, 0x755A2, 0x8462, 0x8902, 0x8902, 0x75332, 0x8B0A,
    0x97BE, 0x8B0E, 0x96F6, 0x754D6, 0x9FE8, 0x9FDE, 0xEFA, 0x9FE0, 0x9FD6, 0x9FF2, 0x8BEE, 0xA802,
    0x755A6, 0xA806, 0xA80A, 0x9FE4, 0x9FDA, 0x75336, 0xA81A, 0xA812, 0x96CE, 0x8B06, 0x8B02,
    0x3F7, 0x113E, 0x5DE, 0x112E, 0x297, 0x754DA, 0x115E, 0x755AA, 0x7533A, 0x113A, 0x3FF, 0x5EA,
    0x5FA, 0x10DE, 0x5F2, 0x84A2, 0xEDA, 0x754DE, 0x10DA, 0x8776, 0x755AE, 0x7533E, 0x8036, 0x8032,
};

/* The few with a second code point: row, code point. */
const uint16_t entity_seconds[][2] = {
    {315, 0x338}, {319, 0x338}, {320, 0x338}, {322, 0x338}, {324, 0x338}, {325, 0x338},
    {327, 0x338}, {332, 0x338}, {333, 0x338}, {335, 0x338}, {336, 0x338}, {338, 0x338},
    {342, 0x338}, {344, 0x338}, {346, 0x338}, {348, 0x20D2}, {351, 0x338}, {353, 0x338},
    {354, 0x20D2}, {506, 0x200A}, {601, 0x333}, {706, 0x20E5}, {707, 0x20E5}, {780, 0xFE00},
    {852, 0xFE00}, {1001, 0x6A}, {1049, 0xFE00}, {1086, 0xFE00}, {1087, 0xFE00}, {1212, 0xFE00},
    {1251, 0xFE00}, {1334, 0xFE00}, {1335, 0xFE00}, {1373, 0x338}, {1374, 0x20D2}, {1375, 0x338},
    {1378, 0x338}, {1379, 0x20D2}, {1380, 0x338}, {1386, 0x20D2}, {1388, 0x338}, {1389, 0x338},
    {1396, 0x338}, {1397, 0x338}, {1402, 0x338}, {1411, 0x338}, {1414, 0x338}, {1418, 0x338},
    {1421, 0x338}, {1422, 0x338}, {1423, 0x338}, {1436, 0x338}, {1443, 0x338}, {1444, 0x338},
    {1445, 0x338}, {1455, 0x338}, {1456, 0x338}, {1466, 0x20E5}, {1467, 0x338}, {1471, 0x338},
    {1473, 0x338}, {1476, 0x338}, {1477, 0x338}, {1483, 0x338}, {1495, 0x338}, {1497, 0x20D2},
    {1499, 0x338}, {1501, 0x338}, {1503, 0x338}, {1505, 0x20D2}, {1507, 0x338}, {1521, 0x20D2},
    {1523, 0x20D2}, {1524, 0x20D2}, {1527, 0x20D2}, {1528, 0x20D2}, {1529, 0x20D2}, {1531, 0x20D2},
    {1532, 0x20D2}, {1672, 0x331}, {1828, 0xFE00}, {1838, 0xFE00}, {1840, 0xFE00}, {2038, 0xFE00},
    {2039, 0xFE00}, {2040, 0xFE00}, {2041, 0xFE00}, {2055, 0x20D2}, {2056, 0x20D2}, {2061, 0xFE00},
    {2062, 0xFE00}, {2063, 0xFE00}, {2064, 0xFE00},
};
const size_t entity_second_count = sizeof entity_seconds / sizeof *entity_seconds;

/* Characters whose capital is more than one character. */
const uint16_t entity_capitals[][4] = {
    {0xDF, 0x53, 0x53}, {0x149, 0x2BC, 0x4E}, {0xFB00, 0x46, 0x46}, {0xFB01, 0x46, 0x49},
    {0xFB02, 0x46, 0x4C}, {0xFB03, 0x46, 0x46, 0x49}, {0xFB04, 0x46, 0x46, 0x4C},
};
const size_t entity_capital_count = sizeof entity_capitals / sizeof *entity_capitals;
