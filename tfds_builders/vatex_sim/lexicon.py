"""The fixed words of the simulated world: concepts with one English and one Chinese word each.

A word is ambiguous in English where two concepts share it (bat: 蝙蝠 or 球棒), in Chinese where two share their Chinese
word (羊: sheep or goat). No concept is ambiguous both ways, so a word and its sense determine its translation.
Every Chinese word is one jieba word in the sentences of the world (`acceptance` measures it).
"""

import dataclasses
import functools
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Concept:
    """One meaning. `sense` is 0 or 1 among the two meanings of the ambiguous word, written in `ambiguous_in`."""

    part_of_speech: str
    en: str
    zh: str
    ambiguous_in: str
    sense: int

    def word(self, language: str) -> str:
        return self.en if language == "en" else self.zh


# One English word, its two Chinese translations.
ENGLISH_NOUNS = (
    ("bat", "蝙蝠", "球棒"),
    ("crane", "仙鹤", "起重机"),
    ("trunk", "树干", "后备箱"),
    ("mouse", "老鼠", "鼠标"),
    ("spring", "泉水", "弹簧"),
    ("nail", "指甲", "钉子"),
    ("palm", "棕榈", "手掌"),
    ("seal", "海豹", "印章"),
    ("pen", "围栏", "钢笔"),
    ("bow", "弓箭", "蝴蝶结"),
    ("pitcher", "投手", "水壶"),
    ("ruler", "国王", "尺子"),
    ("file", "文件", "锉刀"),
    ("key", "琴键", "钥匙"),
    ("letter", "字母", "信件"),
    ("organ", "器官", "风琴"),
    ("plant", "植物", "工厂"),
    ("fan", "球迷", "风扇"),
    ("glass", "玻璃", "酒杯"),
    ("chest", "胸部", "箱子"),
    ("horn", "犄角", "喇叭"),
    ("mole", "鼹鼠", "黑痣"),
    ("note", "音符", "纸条"),
    ("scale", "鳞片", "天平"),
    ("tank", "坦克", "水箱"),
    ("bulb", "球茎", "灯泡"),
    ("pipe", "烟斗", "管道"),
    ("pupil", "学生", "瞳孔"),
    ("cap", "帽子", "瓶盖"),
    ("straw", "稻草", "吸管"),
    ("calf", "小牛", "小腿"),
    ("bolt", "闪电", "螺栓"),
)
ENGLISH_VERBS = (
    ("drawing", "描绘", "拖拉"),
    ("running", "运行", "经营"),
    ("playing", "演奏", "玩弄"),
    ("shooting", "射击", "拍摄"),
    ("raising", "举起", "饲养"),
    ("beating", "击败", "搅拌"),
    ("picking", "挑选", "采摘"),
    ("striking", "敲打", "点燃"),
    ("pressing", "按压", "熨烫"),
    ("driving", "驾驶", "驱赶"),
    ("rolling", "滚动", "卷起"),
    ("dressing", "打扮", "包扎"),
    ("casting", "铸造", "抛出"),
    ("mounting", "安装", "攀登"),
    ("pitching", "搭建", "投掷"),
    ("treating", "治疗", "招待"),
)
# One Chinese word, its two English translations.
CHINESE_NOUNS = (
    ("羊", "sheep", "goat"),
    ("桌子", "table", "desk"),
    ("船", "boat", "ship"),
    ("猴子", "monkey", "ape"),
    ("鸽子", "pigeon", "dove"),
    ("乌龟", "turtle", "tortoise"),
    ("鳄鱼", "crocodile", "alligator"),
    ("兔子", "rabbit", "hare"),
    ("杯子", "cup", "mug"),
    ("石头", "stone", "pebble"),
)
CHINESE_VERBS = (
    ("清洗", "washing", "rinsing"),
    ("观看", "watching", "viewing"),
    ("搬运", "carrying", "moving"),
    ("擦拭", "wiping", "scrubbing"),
)
AGENTS = (
    ("man", "男人"),
    ("woman", "女人"),
    ("boy", "少年"),
    ("girl", "少女"),
    ("soldier", "士兵"),
    ("farmer", "农民"),
    ("clown", "小丑"),
    ("nurse", "护士"),
)
COLOURS = (("red", "红衣"), ("white", "白衣"), ("black", "黑衣"), ("green", "绿衣"))
PLACES = (
    ("park", "公园"),
    ("kitchen", "厨房"),
    ("street", "街道"),
    ("beach", "海滩"),
    ("studio", "工作室"),
    ("classroom", "教室"),
    ("forest", "森林"),
    ("gym", "体育馆"),
)
# Determiners of agents and of things, English and Chinese in the same order.
AGENT_DETERMINERS = (("a", "一个"), ("the", "这个"), ("that", "那个"))
THING_DETERMINERS = (("a", "一个"), ("the", "这个"))


def _concepts(part_of_speech: str, ambiguous_in: str, rows: tuple[tuple[str, str, str], ...]) -> list[Concept]:
    found = []
    for shared, *others in rows:
        for sense, other in enumerate(others):
            en, zh = (shared, other) if ambiguous_in == "en" else (other, shared)
            found.append(Concept(part_of_speech, en, zh, ambiguous_in, sense))
    return found


# A concept's id is its place here; the two senses of a word are neighbours, so `id ^ 1` is the other sense.
CONCEPTS: tuple[Concept, ...] = (
    *_concepts("noun", "en", ENGLISH_NOUNS),
    *_concepts("noun", "zh", CHINESE_NOUNS),
    *_concepts("verb", "en", ENGLISH_VERBS),
    *_concepts("verb", "zh", CHINESE_VERBS),
)


@functools.cache
def ids(part_of_speech: str, ambiguous_in: str) -> tuple[int, ...]:
    """Ids of the concepts of a part of speech whose word is ambiguous in a language."""
    wanted = (part_of_speech, ambiguous_in)
    return tuple(i for i, concept in enumerate(CONCEPTS) if (concept.part_of_speech, concept.ambiguous_in) == wanted)


@functools.cache
def meanings(language: str) -> Mapping[tuple[str, str], tuple[int, ...]]:
    """(part of speech, word of a language) -> the ids of the concepts it may mean, one or two, by sense."""
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for index, concept in enumerate(CONCEPTS):
        key = (concept.part_of_speech, concept.word(language))
        found[key] = (*found.get(key, ()), index)
    return found
